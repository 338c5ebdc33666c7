import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.training.metrics import (
    ErrorRates,
    error_rates,
    exact_match,
    token_error_rate,
    word_error_rate,
)

CAT = ["K", "AE", "T"]


def test_rates_of_a_small_test_set():
    hypotheses = [
        ["R", "EH", "D"],  # equals its second reference
        ["K", "AE"],  # T is missing: 1 edit of 3
        ["D", "AA", "G", "Z"],  # AA for AO, and Z too many: 2 edits of 3
        ["T", "UW"],  # right
    ]
    references = [[["R", "IY", "D"], ["R", "EH", "D"]], [CAT], [["D", "AO", "G"]], [["T", "UW"]]]
    rates = error_rates(hypotheses, references)
    assert rates == ErrorRates(num_words=4, word_errors=2, token_errors=3, num_tokens=11)
    assert rates.wer == word_error_rate(hypotheses, references) == 0.5
    assert rates.ter == token_error_rate(hypotheses, references) == 3 / 11
    assert exact_match(hypotheses, references) == 0.5


def test_an_empty_hypothesis_misses_every_token():
    rates = error_rates([[]], [[CAT]])
    assert rates == ErrorRates(1, 1, 3, 3)
    assert rates.ter == 1.0


def test_an_empty_hypothesis_is_compared_with_the_shortest_reference():
    assert error_rates([[]], [[CAT, ["AH"]]]) == ErrorRates(1, 1, 1, 1)


def test_too_long_a_hypothesis_can_have_more_edits_than_tokens():
    assert token_error_rate([["a", "b", "c"]], [[["x"]]]) == 3.0


def test_the_nearest_reference_has_the_fewest_edits_for_its_length():
    # 1 edit of 2 tokens is a half; 2 edits of 5 tokens are less.
    hypothesis, short, long = ["a", "b", "c"], ["a", "b"], ["a", "b", "c", "d", "e"]
    assert error_rates([hypothesis], [[short, long]]) == ErrorRates(1, 1, 2, 5)
    assert error_rates([hypothesis], [[long, short]]) == ErrorRates(1, 1, 2, 5)


def test_tokens_are_compared_whole():
    assert error_rates([["AE"]], [[["AH"]]]).token_errors == 1


@given(
    st.lists(st.text("ab", max_size=6).map(list), min_size=1),
    st.lists(st.text("ab", min_size=1, max_size=6).map(list), min_size=1),
)
def test_a_word_is_right_when_it_is_among_its_references(hypotheses, allowed):
    rates = error_rates(hypotheses, [allowed] * len(hypotheses))
    assert rates.word_errors == sum(hypothesis not in allowed for hypothesis in hypotheses)
    assert exact_match(hypotheses, [allowed] * len(hypotheses)) == pytest.approx(1 - rates.wer)
    assert (rates.token_errors == 0) == (rates.word_errors == 0)


@pytest.mark.parametrize(
    ("hypotheses", "references", "problem"),
    [
        ([], [], r"no hypotheses\. A rate needs at least one"),
        ([CAT, CAT], [[CAT]], r"2 hypotheses but 1 lists of references\. .* same order"),
        ([CAT, CAT], [[CAT], []], r"hypothesis 1 has no reference\. .* Give one, or leave"),
        ([CAT], [[CAT, []]], "hypothesis 0 has an empty reference"),
    ],
)
def test_what_cannot_be_scored_is_an_error(hypotheses, references, problem):
    with pytest.raises(ValueError, match=problem):
        error_rates(hypotheses, references)


@pytest.mark.parametrize(
    ("hypotheses", "references"), [(["K AE T"], [[CAT]]), ([CAT], [["K AE T"]]), ([CAT], [CAT])]
)
def test_a_string_in_place_of_tokens_is_an_error(hypotheses, references):
    with pytest.raises(TypeError, match=r"item 0 holds a string .* put a single reference into"):
        error_rates(hypotheses, references)
