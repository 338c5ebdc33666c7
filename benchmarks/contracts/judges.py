"""Each judges the answers of one contestant to one question, by comparing numbers."""

import torch

from benchmarks.contracts.definition import truth
from benchmarks.contracts.verdict import (
    Answer,
    Verdict,
    close,
    difference,
    gradient_differences,
    right_unless,
    tensor,
)
from benchmarks.peers.protocol import Case, Numbers

MEAN = "the mean of its hidden keys"


def as_defined(
    cases: list[Case], answers: list[Answer], score: str, *, and_gradients: bool = False
) -> Verdict:
    """Context as in float64."""
    wrong = []
    for case, answer in zip(cases, answers, strict=True):
        right = truth(case, score)
        words = difference("output", tensor(answer["context"]), right.context)
        wrong += [words] if words else []
        wrong += gradient_differences(answer, right) if and_gradients else []
    return right_unless(wrong)


def gradients_as_defined(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    return right_unless(gradient_differences(answers[0], truth(cases[0], score)))


def nothing_to_see(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    """Example 1 may see nothing."""
    full, empty = tensor(answers[0]["context"])
    wrong = [] if _state(empty, cases[0]) == "zero" else [_state(empty, cases[0])]
    words = difference("output of the other example", full, truth(cases[0], score).context[0])
    return right_unless(wrong + ([words] if words else []), "zero")


def causal_and_padded(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    """The first two queries of example 1 may see nothing."""
    context, right = tensor(answers[0]["context"]), truth(cases[0], score).context
    state = _state(context[1, :2], cases[0])
    if state == MEAN:
        state = "the mean of all keys, the future included"
    wrong = [] if state == "zero" else [f"queries that may see nothing get: {state}"]
    for rest, expected in ((context[:1], right[:1]), (context[1:, 2:], right[1:, 2:])):
        words = difference("output of the other queries", rest, expected)
        wrong += [words] if words else []
    return right_unless(wrong)


def agree(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    """One context for all cases; NaN agrees with NaN only."""
    del score
    contexts = [tensor(answer["context"]) for answer in answers]
    states = [_state(context[1], cases[0]) for context in contexts]
    if all(torch.allclose(c, contexts[0], atol=1e-5, equal_nan=True) for c in contexts):
        return Verdict("right", f"one output; all padding gives {states[0]}")
    names = [
        f"{'train' if case.train else 'eval'}, {'with' if case.need_weights else 'no'} weights"
        for case in cases
    ]
    if len(set(states)) > 1:
        told = "; ".join(f"{name}: {state}" for name, state in zip(names, states, strict=True))
        return Verdict("wrong", f"all padding gives, {told}")
    return Verdict("wrong", "the full example differs")


def before_dropout(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    weights = tensor(answers[0]["weights"])
    if close(weights, truth(cases[0], score).weights):
        return Verdict("right", "before dropout")
    sums = weights.sum(dim=-1)
    return Verdict("wrong", f"after dropout: rows sum to {sums.min():.2f} up to {sums.max():.2f}")


def meaning_of_true(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    return Verdict("says", _meaning(cases[0], answers[0], score))


def meaning_of_numbers(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    """The first case has bools, the second numbers."""
    bools, numbers = answers
    if "error" in numbers:
        return Verdict("right", f"refuses: {numbers['error']}")
    meaning, expected = _meaning(cases[1], numbers, score), _meaning(cases[0], bools, score)
    if meaning == expected:
        return Verdict("right", f"1 means {meaning}, as True does")
    return Verdict("wrong", f"1 means {meaning}, True means {expected}")


def unnamed_alignment(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    if "error" in answers[0]:
        return Verdict("says", "err")
    context = tensor(answers[0]["context"])
    for align in ("start", "end"):
        named = Case(memory=cases[0].memory, query=cases[0].query, causal=align)
        if close(context, truth(named, score).context):
            return Verdict("says", align)
    return Verdict("wrong", "neither alignment")


def refused(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    """Every case must be an error."""
    del score
    taken = [
        f"takes query {_shape(case.query or case.memory)} and memory {_shape(case.memory)}, "
        f"gives {_shape(answer['context'])}"
        for case, answer in zip(cases, answers, strict=True)
        if "error" not in answer
    ]
    return right_unless(taken, f"refuses: {answers[0].get('error')}")


def low_scores(cases: list[Case], answers: list[Answer], score: str) -> Verdict:
    """All weight on the visible keys, which are equal, so that the context tells their share."""
    del score
    context = tensor(answers[0]["context"])
    share = float((context / cases[0].memory[0][0][0]).mean())
    if abs(share - 1.0) < 0.02:
        return Verdict("right", f"{share:.2f} on the visible keys")
    return Verdict("wrong", f"{share:.2f} on the visible keys" if share == share else "NaN")


def _meaning(case: Case, answer: Answer, score: str) -> str:
    """Which reading of the mask explains the context."""
    assert case.mask is not None
    context = tensor(answer["context"])
    plain = Case(memory=case.memory, query=case.query)
    kept = [[bool(cell) for cell in row] for row in case.mask]
    opposite = [[not cell for cell in row] for row in kept]
    readings = {
        "keep": truth(Case(memory=case.memory, query=case.query, keep=kept), score),
        "hide": truth(Case(memory=case.memory, query=case.query, keep=opposite), score),
        "added to the scores": truth(plain, score, bias=tensor(case.mask)),
        "ignored": truth(plain, score),
    }
    for name, reading in readings.items():
        if close(context, reading.context):
            return name
    return "something else"


def _state(context: torch.Tensor, case: Case) -> str:
    """What came out of example 1, which may see nothing."""
    if context.isnan().any():
        return "NaN"
    if bool((context.abs() < 1e-6).all()):
        return "zero"
    mean = tensor(case.memory)[1].mean(dim=0)
    return MEAN if close(context, mean.expand_as(context)) else "something else"


def _shape(numbers: Numbers) -> str:
    return f"({', '.join(map(str, tensor(numbers).shape))})"
