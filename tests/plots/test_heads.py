"""`plots.heads`: a panel for each head, which shows that head."""

import numpy as np
import pytest

from regard import plots

pytest.importorskip("matplotlib")

WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 3))  # heads, queries, keys
SOURCE = ["c", "a", "k", "e"]
TARGET = ["K", "EY", "K"]


def panels(figure):
    return [ax for ax in figure.axes if ax.images]


def test_each_panel_shows_its_head_under_its_name():
    drawn = panels(plots.heads(WEIGHTS, SOURCE, TARGET))
    assert [ax.get_title(loc="left") for ax in drawn] == [f"head {h}" for h in range(5)]
    for ax, weights in zip(drawn, WEIGHTS, strict=True):
        assert np.array_equal(ax.images[0].get_array(), weights)
        assert ax.images[0].get_clim() == (0, 1)
        assert [tick.get_text() for tick in ax.get_xticklabels()] == SOURCE
        assert [tick.get_text() for tick in ax.get_yticklabels()] == TARGET


@pytest.mark.parametrize(("ncols", "rows"), [(None, [4, 1]), (2, [2, 2, 1]), (9, [5])])
def test_panels_stand_in_rows(ncols, rows):
    drawn = panels(plots.heads(WEIGHTS, SOURCE, TARGET, ncols=ncols))
    tops = [round(ax.get_position().y1, 3) for ax in drawn]
    assert [tops.count(top) for top in sorted(set(tops), reverse=True)] == rows


def test_titles_can_be_given():
    drawn = panels(plots.heads(WEIGHTS[:2], SOURCE, TARGET, titles=["left", "right"]))
    assert [ax.get_title(loc="left") for ax in drawn] == ["left", "right"]


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        (WEIGHTS[0], {}, r"weights of shape \(3, 4\).*plots.alignment"),
        (WEIGHTS[None], {}, r"weights of shape \(1, 5, 3, 4\)"),
        (WEIGHTS[:0], {}, "with one head at least"),
        (WEIGHTS, {"titles": ["one"]}, "plots.heads: 1 titles for 5 panels"),
        (WEIGHTS, {"ncols": 0}, "plots.heads: ncols=0"),
        (WEIGHTS - 1, {}, "plots.heads: panel 0: weights.*is negative"),
    ],
)
def test_what_cannot_be_drawn_is_refused(weights, options, message):
    with pytest.raises(ValueError, match=message):
        plots.heads(weights, SOURCE, TARGET, **options)
