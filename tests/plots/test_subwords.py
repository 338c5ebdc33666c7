"""Merging subwords: sums over keys, means over queries."""

import numpy as np
import pytest
import torch

from regard import plots

# Three target pieces (two words) over four source pieces (two words).
WEIGHTS = [[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.0, 0.0, 1.0, 0.0]]


def test_source_columns_are_summed_and_target_rows_averaged():
    merged = plots.merge_subwords(
        WEIGHTS,
        ["▁at", "ten", "tion", "▁is"],
        ["Auf@@", "merksamkeit", "ist"],
        source_mark="▁",
        target_mark="@@",
    )
    assert (merged.source, merged.target) == (["attention", "is"], ["Aufmerksamkeit", "ist"])
    # First word over the first: the mean of .1 + .2 + .3 and .5 + .1 + .1.
    np.testing.assert_allclose(merged.weights, [[0.65, 0.35], [1.0, 0.0]], rtol=1e-12)


def test_a_side_without_a_mark_stays():
    merged = plots.merge_subwords(
        WEIGHTS, ["a", "##b", "c", "##d"], ["x", "##y", "z"], source_mark="##"
    )
    assert merged.target == ["x", "##y", "z"]
    np.testing.assert_allclose(merged.weights, [[0.3, 0.7], [0.6, 0.4], [0.0, 1.0]], rtol=1e-12)


@pytest.mark.parametrize(
    ("mark", "pieces", "words"),
    [
        ("▁", ["▁new", "▁low", "er"], ["new", "lower"]),
        ("▁", ["no", "▁mark"], ["no", "mark"]),
        ("▁", ["▁", "x", "</s>", "y"], ["x", "</s>", "y"]),
        ("▁", ["▁caf", "<0xC3>", "<0xA9>"], ["caf<0xC3><0xA9>"]),
        ("Ġ", ["The", "Ġun", "seen", "Ġ<", "a", ">"], ["The", "unseen", "<a>"]),
        ("##", ["[CLS]", "un", "##seen", "##ly", "[SEP]"], ["[CLS]", "unseenly", "[SEP]"]),
        ("##", ["##seen", "it"], ["seen", "it"]),
        ("@@", ["lo@@", "w@@", "er", "new"], ["lower", "new"]),
        ("@@", ["lo@@", "<eos>"], ["lo", "<eos>"]),
    ],
)
def test_words_are_cut_as_the_tokenizer_marks_them(mark, pieces, words):
    weights = torch.eye(len(pieces), dtype=torch.bfloat16)
    merged = plots.merge_subwords(weights, pieces, pieces, source_mark=mark, target_mark=mark)
    assert merged.source == merged.target == words
    np.testing.assert_allclose(merged.weights.sum(axis=1), 1.0, rtol=1e-12)


def test_heads_are_kept_and_the_result_can_be_drawn():
    pytest.importorskip("matplotlib")
    merged = plots.merge_subwords(
        [WEIGHTS, WEIGHTS[::-1]], list("abcd"), ["x", "##y", "z"], target_mark="##"
    )
    assert merged.weights.shape == (2, 2, 4)
    np.testing.assert_allclose(merged.weights[1, 1], WEIGHTS[0])
    assert len(plots.heads(*merged).axes) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither source_mark nor target_mark.*Pass one of ▁, Ġ, ##, @@"),
        ({"source_mark": "_"}, "source_mark='_' is unknown"),
        ({"target_mark": "#"}, "target_mark='#' is unknown"),
    ],
)
def test_an_unknown_mark_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        plots.merge_subwords(WEIGHTS, list("abcd"), list("xyz"), **options)


def test_pieces_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 4\) with 3 source pieces and 3 target"):
        plots.merge_subwords(WEIGHTS, list("abc"), list("xyz"), source_mark="##")


@pytest.mark.parametrize(
    ("mark", "pieces", "other"),
    [
        ("##", ["▁a", "b"], "▁"),
        ("▁", ["lo@@", "w"], "@@"),
        ("Ġ", ["un", "##seen"], "##"),
        ("@@", ["The", "Ġend"], "Ġ"),
    ],
)
def test_a_mark_that_no_piece_has_is_refused_where_they_have_another(mark, pieces, other):
    with pytest.raises(
        ValueError, match=rf"source_mark='{mark}', but no piece has it.*Pass source_mark='{other}'"
    ):
        plots.merge_subwords([[0.5, 0.5]], pieces, ["x"], source_mark=mark)


@pytest.mark.parametrize("mark", ["##", "@@", "Ġ", "▁"])
def test_pieces_that_are_whole_words_may_bear_no_mark(mark):
    plots.merge_subwords([[1.0]], ["word"], ["x"], source_mark=mark)
    plots.merge_subwords([[1.0]], ["##"], ["x"], source_mark=mark)  # a token of its own


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[float("nan"), 1.0]], r"weights\[0, 0\] = nan is not a finite number"),
        ([[-5.0, 9.0]], r"weights\[0, 0\] = -5 is negative .*not scores"),
        ([[[0.5, 9.0]]], r"weights\[0, 0, 1\] = 9 is above 1"),
    ],
)
def test_what_are_no_weights_is_not_merged(weights, message):
    with pytest.raises(ValueError, match=rf"^plots.merge_subwords: {message}"):
        plots.merge_subwords(weights, ["▁a", "b"], ["x"], source_mark="▁")
