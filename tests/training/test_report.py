"""Intervals, BLEU and chrF, and parts by length."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.models import Side, Translator
from regard.text import Pair
from regard.training import evaluate, evaluate_by_length
from regard.training.bootstrap import bootstrap
from regard.training.report import quarters, report
from regard.training.translation import bleu, chrf

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "mat", "."]), min_size=1, max_size=9)
TEXTS = WORDS.map(" ".join)


def mean(total):
    return total[0] / total[1]


def test_the_interval_of_a_share_is_the_binomials():
    """Of n rows with a share p the resampled number right is binomial: its quantiles, over n."""
    rows = np.array([[row < 60, 1] for row in range(200)], dtype=float)
    found = bootstrap(rows, mean)
    assert found.value == 0.3
    # binomial(200, 0.3) has mean 60 and deviation sqrt(200 * 0.3 * 0.7) = 6.48: 47.3 to 72.7
    assert found.low == pytest.approx(0.2365, abs=0.01)
    assert found.high == pytest.approx(0.3635, abs=0.01)


def test_rows_are_drawn_whole_and_each_time_alike():
    """Were the columns drawn apart, the ratio would move."""
    rows = np.array([[1, 2], [10, 20], [100, 200], [3, 6]], dtype=float)
    assert bootstrap(rows, mean) == (0.5, 0.5, 0.5)
    uneven = np.array([[1, 2], [10, 7], [100, 200], [3, 6]], dtype=float)
    assert bootstrap(uneven, mean) == bootstrap(uneven, mean)


def test_bleu_by_hand():
    """Matches 4, 3, 2, 1 of 5, 4, 3, 2 n-grams; the closest reference is as long: no penalty."""
    score = bleu(["a b c d x"], [["a b c d e", "y"]])
    by_hand = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert score.of(score.counts.sum(axis=0)) == pytest.approx(by_hand)


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=6))
def test_rows_add_up_to_sacrebleus_corpus_score(items):
    hypotheses, references = map(list, zip(*items, strict=True))
    most = max(map(len, references))
    streams = [[r[place] if place < len(r) else None for r in references] for place in range(most)]
    for ours, theirs in ((bleu, BLEU()), (chrf, CHRF())):
        score = ours(hypotheses, references)
        assert len(score.counts) == len(hypotheses)
        expected = theirs.corpus_score(hypotheses, streams).score
        assert score.of(score.counts.sum(axis=0)) == pytest.approx(expected)
        assert score.signature == str(theirs.get_signature())


@given(st.lists(st.integers(1, 12), min_size=1, max_size=60))
def test_every_source_is_in_one_part_and_parts_are_apart_by_length(lengths):
    parts = quarters(lengths)
    assert sorted(place for part in parts for place in part) == list(range(len(lengths)))
    assert 1 <= len(parts) <= 4
    for shorter, longer in pairwise(parts):
        assert max(lengths[place] for place in shorter) < min(lengths[place] for place in longer)


def test_lengths_that_all_differ_make_quarters():
    assert [len(part) for part in quarters(list(range(100, 0, -1)))] == [25] * 4


def test_a_report_is_of_its_parts():
    short, long = [["x"]], [["y", "y", "y", "z"]]
    measured = report(
        [1, 1, 7],
        [["x"], ["q"], ["y", "y", "y", "y"]],
        [short, short, long],
        ["x", "q", "y y y y"],
        [["x"], ["x"], ["y y y z"]],
        seconds=0.5,
    )
    first, second = measured.by_length
    assert (first.shortest, first.longest, first.num_words) == (1, 1, 2)
    assert (second.shortest, second.longest, second.num_words) == (7, 7, 1)
    assert (first.wer.value, second.wer.value, measured.all.wer.value) == (0.5, 1.0, 2 / 3)
    assert (first.ter.value, second.ter.value, measured.all.ter.value) == (0.5, 0.25, 2 / 6)
    assert (
        second.bleu == (pytest.approx(BLEU().corpus_score(["y y y y"], [["y y y z"]]).score),) * 3
    )


def make_translator(tokenizer):
    texts = ["a b c"]
    return Translator.fresh(
        Side.build(tokenizer, texts), Side.build(tokenizer, texts), hidden_dim=8
    )


PAIRS = [Pair("a b", "b a"), Pair("c", "c"), Pair("a b", "a b"), Pair("b c a", "a c b")]


def test_bleu_is_for_words_unless_asked_for():
    words, characters = make_translator("whitespace"), make_translator("characters")
    assert evaluate_by_length(words, PAIRS).all.bleu is not None
    assert evaluate_by_length(words, PAIRS, with_bleu=False).all.bleu is None
    measured = evaluate_by_length(characters, PAIRS)
    assert (measured.all.bleu, measured.all.chrf, measured.signatures) == (None, None, {})
    assert evaluate_by_length(characters, PAIRS, with_bleu=True).all.chrf is not None


def test_it_counts_what_evaluate_counts():
    translator = make_translator("whitespace")
    assert evaluate_by_length(translator, PAIRS).all.counts == evaluate(translator, PAIRS)
