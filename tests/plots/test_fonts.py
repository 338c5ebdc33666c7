"""Labels in any script: fonts by what is installed, one warning for what no font has."""

import warnings

import numpy as np
import pytest

from regard import plots

pytest.importorskip("matplotlib")
from matplotlib import rc_context
from matplotlib.font_manager import FontEntry, FontProperties, findfont, fontManager, get_font

from regard.plots import _fonts

UNASSIGNED = ["\U000e0fff", "\U000e0ffe"]  # no font has them


def test_plain_labels_use_the_users_fonts_alone():
    with rc_context({"font.family": ["DejaVu Serif"]}):
        assert _fonts.families_for(["abc", "é"], "plots") == ["DejaVu Serif"]


def test_a_missing_character_brings_the_font_that_has_it():
    # Whatever is installed here: the bundled DejaVu Sans has Arabic, DejaVu Serif has not.
    with rc_context({"font.family": ["DejaVu Serif"]}):
        families = _fonts.families_for(["سلام"], "plots")
    assert families[0] == "DejaVu Serif"
    assert len(families) == 2
    font = get_font(findfont(FontProperties(family=families[1])))
    assert all(font.get_char_index(ord(c)) for c in "سلام")


def test_missing_glyphs_give_one_warning_that_names_them(tmp_path):
    labels = ["a", *UNASSIGNED]
    with pytest.warns(UserWarning, match="no installed font has") as caught:
        figure = plots.alignment(np.eye(3), labels, labels)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith("plots.alignment: ")
    assert "(U+E0FFF)" in message
    assert "(U+E0FFE)" in message
    assert "Install a font" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # and drawing adds none
        plots.save(figure, tmp_path / "a.png")
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == labels


def test_many_missing_characters_are_counted():
    with pytest.warns(UserWarning, match=r" and 12 more\. They are drawn as boxes"):
        _fonts.families_for([chr(0xE0F00 + i) for i in range(20)], "plots")


def test_arabic_draws_without_warnings(tmp_path):
    figure = plots.alignment(np.eye(2), ["كتاب", "می\u200cروم"], ["book", "go"])
    plots.save(figure, tmp_path / "a.png")


def test_a_font_that_cannot_be_opened_is_passed_over(monkeypatch, tmp_path):
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"not a font")
    entry = FontEntry(fname=str(broken), name="Broken", style="normal", weight=400)
    monkeypatch.setattr(fontManager, "ttflist", [*fontManager.ttflist, entry])
    with pytest.warns(UserWarning, match="no installed font has"):
        assert "Broken" not in _fonts.families_for(UNASSIGNED, "plots")
