"""Arguments of another type end with words of ours, not with another library's."""

import os
from dataclasses import replace

import pytest
import torch

from regard import plots
from regard.recording import Trace

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("as_a_user")

ONE = [[1.0]]
TRACE = Trace.of_weights("d", torch.ones(1, 1), [["x"]], [["a"]])
PANEL = (ONE, ["a"], ["x"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plots.alignment(ONE, ["a"], ["x"], ax="x"), r"alignment: ax is 'x', str\. .*axes"),
        (lambda: plots.alignment(ONE, ["a"], ["x"], title=5), r"alignment: title is 5, int\."),
        (lambda: plots.alignment(ONE, 5, ["x"]), r"alignment: source is 5, int\. .*Pass a list"),
        (
            lambda: plots.alignment(torch.ones(1, 1, dtype=torch.complex64), ["a"], ["x"]),
            r"alignment: weights is ndarray, which makes no array of real numbers",
        ),
        (lambda: plots.alignments(5), r"alignments: panels is a int\."),
        (lambda: plots.alignments([5]), r"alignments: panel 0 is 5, int\."),
        (lambda: plots.alignments([PANEL], titles=5), r"alignments: titles is 5, int\."),
        (lambda: plots.alignments([PANEL], titles=[5]), r"alignments: titles\[0\] is 5, int\."),
        (lambda: plots.alignments([PANEL], ncols="x"), r"alignments: ncols='x', str\."),
        (lambda: plots.save(None, "x.png"), r"save: figure is None, NoneType\. .*plots\.alignment"),
        (lambda: plots.save(plots.alignment(*PANEL), 5), r"save: path is 5, int\."),
        (lambda: plots.page(TRACE, 5), r"page: path is 5, int\."),
        (lambda: plots.page(TRACE, "x.html", title=5), r"page: title is 5, int\."),
        (
            lambda: plots.merge_subwords([[1.0, 0.0]], [1, 2], ["x"], source_mark="##"),
            r"merge_subwords: source has the label 1 of type int\.",
        ),
    ],
)
def test_it_is_refused_in_words(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=f"^plots.{message}"):
        call()
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "dtype", "message"),
    [
        (5, torch.float32, r"a site is named 5, int\."),
        ("d", torch.complex64, r"site 'd' has weights of torch\.complex64\."),
    ],
)
def test_a_site_that_cannot_be_shown_is_refused_in_words(tmp_path, name, dtype, message):
    trace = Trace.of_weights("d", torch.ones(1, 1))
    (site,) = trace
    object.__setattr__(site, "name", name)
    call = site.runs[0].calls[0]
    site.runs[0].calls[0] = replace(call, weights=call.weights.to(dtype))
    with pytest.raises(TypeError, match=f"^plots.page: {message}"):
        plots.page(trace, tmp_path / "a.html")
    assert not os.listdir(tmp_path)
