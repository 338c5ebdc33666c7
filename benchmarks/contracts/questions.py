"""The questions: what is asked, what would be right, and how an answer is judged."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from benchmarks.contracts.inputs import DIM, first, last, length_first, numbers
from benchmarks.contracts.judges import (
    agree,
    as_defined,
    before_dropout,
    causal_and_padded,
    gradients_as_defined,
    low_scores,
    meaning_of_numbers,
    meaning_of_true,
    nothing_to_see,
    refused,
    unnamed_alignment,
)
from benchmarks.contracts.verdict import Answer, Verdict
from benchmarks.peers.protocol import Case

QUERY, MEMORY = numbers(2, 3, DIM, seed=1), numbers(2, 5, DIM, seed=2)
PADDED = Case(memory=MEMORY, query=QUERY, keep=first(5, 2, key_len=5))
EMPTY = replace(PADDED, keep=first(5, 0, key_len=5))
NAN = float("nan")


class Question(NamedTuple):
    """``cases`` are built for a score; ``judge`` sees the answers, errors among them only if
    ``refusal_is_right``."""

    name: str
    right: str
    cases: Callable[[str], list[Case]]
    judge: Callable[[list[Case], list[Answer], str], Verdict]
    refusal_is_right: bool = False


def verdict(question: Question, answers: list[Answer], score: str) -> Verdict:
    """Judge one contestant's answers to one question."""
    for answer in answers:
        if "cannot" in answer:
            return Verdict("cannot", answer["cannot"])
    errors = [answer["error"] for answer in answers if "error" in answer]
    if errors and not question.refusal_is_right:
        return Verdict("refuses", errors[0])
    return question.judge(question.cases(score), answers, score)


def _hidden(junk: float) -> Case:
    """The last three keys of example 1 hold junk, and are hidden."""
    memory = [MEMORY[0], MEMORY[1][:2] + [[junk] * DIM] * 3]
    return replace(PADDED, memory=memory, loss_over=[0, 1])


def _every_mode() -> list[Case]:
    """Self-attention (torch's inference fast path needs it), the second example all padding."""
    memory = numbers(2, 5, DIM, seed=3)
    return [
        Case(memory, keep=first(5, 0, key_len=5), num_heads=2, train=train, need_weights=weights)
        for train in (True, False)
        for weights in (True, False)
    ]


def _masks(dtype: str) -> list[Case]:
    """A bool mask and one of numbers, handed over as they are."""
    grid = [[1, 1, 1, 0, 0], [0, 1, 1, 1, 0]]
    bools = [[bool(cell) for cell in row] for row in grid]
    as_numbers = [[float(cell) for cell in row] for row in grid] if dtype == "float32" else grid
    both = Case(memory=MEMORY, query=QUERY)
    return [replace(both, mask=bools), replace(both, mask=as_numbers, mask_dtype=dtype)]


def _low(score: str, dtype: str, depth: str, need_weights: bool | None = None) -> list[Case]:
    """Two visible keys that score equally low, two hidden ones that score 0."""
    size = {
        ("scaled_dot", "-4e4"): 141.0,
        ("scaled_dot", "-1e5"): 224.0,  # -2 * 224² = -100,352
        ("dot", "-4e4"): 100.0,
        ("dot", "-1e5"): 158.0,  # -4 * 158² = -99,856
        ("additive", "-4e4"): 10.0,
        ("additive", "-1e5"): 10.0,
    }[score, depth]
    query = [[[0.0 if score == "additive" else -size] * DIM]]
    memory = [[[size] * DIM] * 2 + [[0.0] * DIM] * 2]
    v = (-1e4 if depth == "-4e4" else -25_000.0,) * DIM  # tanh(10) is 1
    keep = first(2, key_len=4)
    return [Case(memory, query, v, dtype=dtype, keep=keep, need_weights=need_weights)]


UNEVEN = Case(memory=numbers(1, 5, DIM, seed=4), query=numbers(1, 3, DIM, seed=5))
LEFT_PADDED = Case(
    memory=MEMORY,
    query=numbers(2, 5, DIM, seed=6),
    keep=last(5, 3, key_len=5),
    causal="flag",
)
EIGHT_KEYS = Case(memory=numbers(2, 8, DIM, seed=7), query=QUERY, need_weights=True, dropout=0.5)
EXAMPLES = numbers(3, 5, DIM, seed=8)
LEAKS = "the visible keys share all the weight; a finite fill value lets it leak to the hidden."

QUESTIONS = (
    Question(
        "an ordinary padded batch",
        "context and gradients of the formula. This one checks the asking.",
        lambda _: [replace(PADDED, loss_over=[0, 1])],
        lambda cases, answers, score: as_defined(cases, answers, score, and_gradients=True),
    ),
    Question(
        "a row with nothing to see",
        "zero, the empty sum.",
        lambda _: [EMPTY],
        nothing_to_see,
    ),
    Question(
        "… gradients of another example",
        "those of the formula: the loss is of the other example alone.",
        lambda _: [replace(EMPTY, loss_over=[0])],
        gradients_as_defined,
    ),
    Question(
        "NaN hidden: output",
        "as if the positions were not there.",
        lambda _: [_hidden(NAN)],
        as_defined,
    ),
    Question(
        "NaN hidden: gradients",
        "as if the positions were not there.",
        lambda _: [_hidden(NAN)],
        gradients_as_defined,
    ),
    Question(
        "1e6 hidden: output and gradients",
        "as if the positions were not there, in output and gradients.",
        lambda _: [_hidden(1e6)],
        lambda cases, answers, score: as_defined(cases, answers, score, and_gradients=True),
    ),
    Question(
        "weights asked or not, train or eval",
        "one output in all four, in a full and in an all-padding example, at dropout 0.",
        lambda _: _every_mode(),
        agree,
    ),
    Question(
        "weights returned under dropout",
        "those before dropout, which sum to 1.",
        lambda _: [EIGHT_KEYS],
        before_dropout,
    ),
    Question(
        "what True means in a mask",
        "either, `keep` (may attend) or `hide`.",
        lambda _: _masks("bool")[:1],
        meaning_of_true,
    ),
    Question(
        "a mask of 0.0 and 1.0",
        "what the bool mask means, or an error.",
        lambda _: _masks("float32"),
        meaning_of_numbers,
        refusal_is_right=True,
    ),
    Question(
        "a mask of integers 0 and 1",
        "what the bool mask means, or an error.",
        lambda _: _masks("int64"),
        meaning_of_numbers,
        refusal_is_right=True,
    ),
    Question(
        "causal, 3 queries, 5 keys",
        "either query 0 at key 0 (`start`) or the last query at the last key (`end`), or an error "
        "until one of them is named.",
        lambda _: [replace(UNEVEN, causal="flag")],
        unnamed_alignment,
        refusal_is_right=True,
    ),
    Question(
        "… with each alignment named",
        "the formula, for both.",
        lambda _: [replace(UNEVEN, causal="start"), replace(UNEVEN, causal="end")],
        as_defined,
    ),
    Question(
        "causal and padded on the left",
        "zero for the queries before the first word, the formula for the rest.",
        lambda _: [LEFT_PADDED],
        causal_and_padded,
    ),
    Question(
        "batch of 1 beside a batch of 3",
        "an error, in either order: nothing said that one serves all.",
        lambda _: [
            Case(memory=numbers(1, 5, DIM, seed=2), query=numbers(3, 3, DIM, seed=1)),
            Case(memory=numbers(3, 5, DIM, seed=2), query=numbers(1, 3, DIM, seed=1)),
        ],
        refused,
        refusal_is_right=True,
    ),
    Question(
        "queries 1 wide, keys 4 wide",
        "an error.",
        lambda _: [Case(memory=MEMORY, query=numbers(2, 3, 1, seed=1))],
        refused,
        refusal_is_right=True,
    ),
    Question(
        "bfloat16, scores at -1e5",
        LEAKS,
        lambda score: _low(score, "bfloat16", "-1e5"),
        low_scores,
    ),
    Question(
        "float16, scores at -4e4",
        LEAKS,
        lambda score: _low(score, "float16", "-4e4"),
        low_scores,
    ),
    Question(
        "… with weights asked for",
        "the same.",
        lambda score: _low(score, "float16", "-4e4", need_weights=True),
        low_scores,
    ),
    Question(
        "float16, scores at -1e5",
        LEAKS + " Such scores do not fit into float16.",
        lambda score: _low(score, "float16", "-1e5"),
        low_scores,
    ),
    Question(
        "length-first, 3 queries, 5 keys",
        "an error: the batch axes differ.",
        lambda _: [Case(memory=length_first(MEMORY), query=length_first(QUERY))],
        refused,
        refusal_is_right=True,
    ),
    Question(
        "length-first, padding mask",
        "an error: in self-attention the mask, (batch, key), does not fit the inputs.",
        lambda _: [Case(memory=length_first(EXAMPLES), keep=first(5, 2, 3, key_len=5))],
        refused,
        refusal_is_right=True,
    ),
    Question(
        "batch-first, layer left at defaults",
        "the formula: no example sees another.",
        lambda _: [Case(memory=EXAMPLES, default_layout=True)],
        as_defined,
    ),
)
