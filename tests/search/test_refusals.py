"""What greedy and beam search are given, and what a step returns, where either is wrong."""

import re
from typing import NamedTuple

import numpy as np
import pytest
import torch

from regard.layers import Step
from regard.search import beam, greedy

PADDING, BEGIN, END, VOCAB = 0, 1, 2, 5

pytestmark = pytest.mark.usefixtures("as_a_user")


def search(name, step, **options):
    """Two sources, at most 3 tokens each; beam search with two beams."""
    given = {
        "max_lengths": torch.tensor([3, 3]),
        "begin": BEGIN,
        "end": END,
        "padding": PADDING,
    } | options
    if name == "greedy":
        return greedy(step, None, **given)
    return beam(step, None, **({"num_beams": 2, "select": lambda state, rows: state} | given))


def flat(tokens, state):
    """All tokens alike."""
    return Step(torch.zeros(len(tokens), VOCAB), None, state)


def saying(*outcomes):
    """A step that makes one outcome after the other, each from the number of rows."""
    left = iter(outcomes)
    return lambda tokens, state: next(left)(len(tokens))


def logits(*rows_and_more, dtype=torch.float32):
    """An outcome's maker: None stands for the rows that go in."""

    def make(rows):
        shape = [rows if size is None else size for size in rows_and_more]
        return Step(torch.zeros(shape, dtype=dtype), None, None)

    return make


def weights(*rows_and_more):
    def make(rows):
        shape = [rows if size is None else size for size in rows_and_more]
        return Step(torch.zeros(rows, VOCAB), torch.zeros(shape), None)

    return make


both = pytest.mark.parametrize("name", ["greedy", "beam"])


@both
@pytest.mark.parametrize(
    ("outcomes", "error", "message"),
    [
        (
            [logits(4, 5)],
            ValueError,
            r"step 1 returned logits \(4, 5\) where \(2, vocab\) of floats is due",
        ),
        ([logits(1, 5)], ValueError, r"step 1 returned logits \(1, 5\) where \(2, vocab\)"),
        (
            [logits(None, 1, 5)],
            ValueError,
            r"step 1 returned logits \(2, 1, 5\) where \(2, vocab\)",
        ),
        ([logits(5)], ValueError, r"step 1 returned logits \(5,\) where \(2, vocab\)"),
        (
            [logits(None, 5), logits(None, 6)],
            ValueError,
            r"step 2 returned logits \(\d, 6\) where \(\d, 5\) of floats is due, as wide as before",
        ),
        (
            [logits(None, 5, dtype=torch.long)],
            TypeError,
            r"step 1 .* \(2, 5\) of dtype int64.*float",
        ),
        ([lambda rows: Step([0.5], None, None)], TypeError, "step 1 returned logits of type list"),
        (
            [lambda rows: (torch.zeros(rows, VOCAB), None)],
            TypeError,
            r"step 1 returned a tuple.*\.logits.*Return regard\.layers\.Step",
        ),
        ([weights(1, 4)], ValueError, r"step 1 returned weights \(1, 4\).*\(2, source_len\)"),
        ([weights(None, 3, 4)], ValueError, r"step 1 returned weights \(2, 3, 4\)"),
        ([weights(None, 4), weights(None, 3)], ValueError, r"step 2 returned weights \(\d, 3\)"),
        ([weights(None, 4), logits(None, 5)], ValueError, "step 2 .* of type NoneType.*some"),
        ([logits(None, 5), weights(None, 4)], ValueError, r"step 2 .* \(\d, 4\).*none"),
    ],
)
def test_a_step_answers_for_each_row_and_always_alike(name, outcomes, error, message):
    with pytest.raises(error, match=f"^{name}: {message}"):
        search(name, saying(*outcomes), min_lengths=torch.tensor([3, 3]))


def test_what_it_finds_is_in_the_vocabulary():
    """A step that answers for two rows each got token 7 of a vocabulary of 4."""
    with pytest.raises(ValueError, match=r"logits \(2, 4\) where \(1, vocab\)"):
        search(
            "beam",
            lambda tokens, state: Step(torch.zeros(2 * len(tokens), 4), None, state),
            max_lengths=torch.tensor([3]),
        )


WHOLE = r"\(batch,\) of whole numbers"


@both
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_lengths": [3, 3]}, TypeError, rf"max_lengths=\[3, 3\] is a list.*{WHOLE}"),
        ({"max_lengths": 3}, TypeError, "max_lengths=3 is a int"),
        ({"max_lengths": torch.tensor(3)}, ValueError, rf"max_lengths has shape \(\).*{WHOLE}"),
        ({"max_lengths": torch.ones(2, 1).long()}, ValueError, r"max_lengths has shape \(2, 1\)"),
        ({"max_lengths": torch.tensor([2.5, 3])}, TypeError, r"max_lengths \(2,\) .* float32"),
        ({"max_lengths": torch.tensor([True, True])}, TypeError, "max_lengths .* bool"),
        ({"max_lengths": torch.tensor([3, -3])}, ValueError, "max_lengths is below 0 at source 1"),
        ({"min_lengths": torch.tensor([0, -2])}, ValueError, "min_lengths is below 0 at source 1"),
        ({"min_lengths": [1, 1]}, TypeError, r"min_lengths=\[1, 1\] is a list"),
        ({"min_lengths": torch.tensor([1.0, 1])}, TypeError, r"min_lengths \(2,\) .* float32"),
        ({"prefix": torch.tensor([3, 3])}, ValueError, r"prefix has shape \(2,\).*prefix_len\)"),
        ({"prefix": torch.ones(2, 1)}, TypeError, r"prefix \(2, 1\) has dtype float32"),
        ({"prefix": [[3], [3]]}, TypeError, r"prefix=\[\[3\], \[3\]\] is a list"),
        ({"prefix": torch.tensor([[3], [9]])}, ValueError, "prefix .* vocabulary of 5.* source 1"),
        ({"prefix": torch.tensor([[-1], [3]])}, ValueError, "prefix .* vocabulary of 5.* source 0"),
        (
            {"prefix": torch.tensor([[3, 3, 0], [3, 0, 3]])},
            ValueError,
            "prefix has a token after padding at source 1.*Move the tokens to the front",
        ),
        ({"prefix": torch.tensor([[0, 3], [3, 3]])}, ValueError, "prefix has .* at source 0"),
        ({"never": (5,)}, ValueError, "never=5 where .* vocabulary of 5"),
        ({"never": (-1,)}, ValueError, "never=-1.*at least 0"),
        ({"never": 3}, TypeError, "never=3 is a int.*Give a tuple"),
        ({"never": (id for id in (3,))}, TypeError, "never=.* is a generator.*Give a tuple"),
        ({"never": "3"}, TypeError, "never='3' is a str"),
        ({"begin": 99}, ValueError, "begin=99 where .* vocabulary of 5"),
        ({"end": 99}, ValueError, "end=99 where .* vocabulary of 5"),
        ({"padding": 5}, ValueError, "padding=5 where .* vocabulary of 5"),
        ({"end": -1}, ValueError, "end=-1.*at least 0"),
        ({"end": 2.0}, TypeError, "end=2.0 is a float"),
        ({"begin": True}, TypeError, "begin=True is a bool"),
    ],
)
def test_limits_that_mean_nothing_are_refused(name, options, error, message):
    with pytest.raises(error, match=f"^{name}: {message}"):
        search(name, flat, **options)


@pytest.mark.parametrize(
    ("alpha", "error"),
    [
        (-1000.0, ValueError),
        (1000.0, ValueError),
        (10.5, ValueError),
        (float("nan"), ValueError),
        ("a", TypeError),
        (True, TypeError),
        (None, TypeError),
    ],
)
def test_the_penalty_is_an_exponent_that_does_not_overflow(alpha, error):
    with pytest.raises(error, match=f"^beam: length_penalty={re.escape(repr(alpha))}.*Give 0 for"):
        search("beam", flat, length_penalty=alpha)


@pytest.mark.parametrize("alpha", [-10, 10])
def test_the_largest_penalties_still_give_numbers(alpha):
    found = search("beam", flat, length_penalty=alpha, min_lengths=torch.tensor([2, 2]))
    assert found.scores.isfinite().all()
    assert (found.scores < 0).all()


@both
def test_with_nothing_left_to_emit_there_is_no_answer(name):
    message = f"^{name}: source 0 has no hypothesis.*Forbid less"
    with pytest.raises(ValueError, match=message):
        search(name, flat, never=range(VOCAB))
    with pytest.raises(ValueError, match=message):
        search(name, flat, never={0, 1, 3, 4}, min_lengths=torch.tensor([1, 1]))


@both
def test_logits_of_minus_infinity_are_no_nan(name):
    def impossible_at(source):
        def step(tokens, state):
            table = torch.zeros(len(tokens), VOCAB)
            table[len(tokens) // 2 * source :] = -torch.inf
            return Step(table, None, state)

        return step

    with pytest.raises(ValueError, match=f"^{name}: source 1 has no hypothesis.*logits of -inf"):
        search(name, impossible_at(1))


@both
@pytest.mark.parametrize("number", [torch.nan, torch.inf])
@pytest.mark.parametrize("place", [0, 3])
def test_logits_that_are_no_numbers_are_still_refused(name, number, place):
    def step(tokens, state):
        table = torch.zeros(len(tokens), VOCAB)
        table[1, place] = number
        return Step(table, None, state)

    with pytest.raises(ValueError, match=f"^{name}: step 1: .*NaN in 1 of 2 rows"):
        search(name, step)


class Path(NamedTuple):
    logits: torch.Tensor
    weights: None
    state: None


def test_a_hypothesis_that_cannot_go_on_leaves_the_beam_to_the_others():
    """3 has 0.6 and then nothing, 4 has 0.4 and then the end."""

    def step(tokens, state):
        after = torch.zeros(VOCAB, VOCAB)
        after[BEGIN, 3], after[BEGIN, 4], after[4, END] = 0.6, 0.4, 1.0
        return Path(after.log()[tokens], None, None)

    found = search("beam", step, max_lengths=torch.tensor([3]))
    assert found.tokens.tolist() == [[[4, END]]]
    assert found.log_probs.exp().item() == pytest.approx(0.4)


@both
def test_whole_numbers_of_any_width_will_do(name):
    """Greedy search gives two axes, beam search three."""
    limits = {
        "max_lengths": torch.tensor([3, 2], dtype=torch.uint8),
        "min_lengths": torch.tensor([3, 2], dtype=torch.int16),
        "prefix": torch.tensor([[3, 4], [4, 0]], dtype=torch.uint8),
        "never": np.array([PADDING, BEGIN, 3]),
        "end": np.int64(END),
    }
    found = search(name, flat, **limits)
    assert found.tokens.reshape(2, 3).tolist() == [[3, 4, 4], [4, 4, PADDING]]


def test_beams_may_be_numpys_whole_numbers():
    assert search("beam", flat, num_beams=np.int64(2), n_best=np.int64(2)).tokens.shape[1] == 2


@both
def test_with_nothing_to_emit_tokens_are_where_the_lengths_are(name):
    """What is made on no device in particular is made on meta here."""
    nothing = torch.zeros(2, dtype=torch.long)
    with torch.device("meta"):
        found = search(name, flat, max_lengths=nothing)
    assert (found.tokens.device, found.lengths.device) == (nothing.device, nothing.device)
