"""A row with nothing to attend to: zeros, never NaN."""

import re
from collections.abc import Iterator

import numpy as np

from regard.doctor.checks.asking import (
    Rows,
    Unanswered,
    ask,
    check,
    differs,
    masked_inputs,
    stated,
    with_lengths,
)
from regard.doctor.examination import Examination
from regard.doctor.library_code import library_name
from regard.doctor.probe import Answer, Inputs
from regard.doctor.symptoms import NotChecked, Note, Symptom
from regard.doctor.tracing.blame import first_infinite
from regard.doctor.tracing.trace import Event

NAME = "empty-row"
# Code that says what becomes of an empty row allows it.
ALLOWED = re.compile(
    r"(len(gth)?s?\b.{0,40}\b(0|zero)\b)|\bempty\b|(fully|all|everything|entirely)[ -]+"
    r"(masked|hidden|padded|padding)|nothing to attend|"
    r"\b(padd(ed|ing) rows?|rows? of padding)\b.{0,20}\b(zeros?|0)\b",
    re.I,
)
# Code that says that there is always something to attend to is not asked about it.
EXCLUDED = re.compile(
    r"no row is|at least (one|1)|(one|1) or more|>= ?1\b|≥ ?1\b|\bof 1 or|(never|not|none) \w*\s?"
    r"(be )?(empty|zero|0\b|full)|non-?empty|positive|every \w+ has|from 1\b|greater than (0|zero)",
    re.I,
)


def emptied(exam: Examination) -> tuple[Inputs, Rows]:
    """Masked input with empty rows, and which rows (batch, query) they are."""
    inputs = masked_inputs(exam)
    if inputs.lengths is not None:
        lengths = list(inputs.lengths)
        lengths[-1] = 0
        inputs = with_lengths(inputs, lengths)
    else:
        assert inputs.may_attend is not None
        may_attend = inputs.may_attend.copy()
        may_attend[:, -1] = False
        inputs = inputs.with_(may_attend=may_attend)
    assert inputs.may_attend is not None
    return inputs, np.asarray(~inputs.may_attend.any(-1))


def _empty_row(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs, empty = emptied(exam)
    said_in_words = stated(exam)
    # A library's users do give such rows, and it says that it takes every mask.
    allowed = bool(ALLOWED.search(said_in_words) or library_name(exam.file, exam.name))
    if EXCLUDED.search(said_in_words) and not allowed:
        raise Unanswered("the code says that no row is empty")
    try:
        answer = ask(exam, inputs)
    except Unanswered as why:
        yield Note(f"a row with nothing to attend to is refused: {why}")
        return
    if _holds_nan(answer, ~empty):
        yield Symptom(NAME, "an empty row gives NaN in the rows beside it", ("empty-row",))
    elif _holds_nan(answer, empty):
        said = "a row with nothing to attend to gives NaN"
        if allowed:
            yield Symptom(NAME, said, ("empty-row",))
        else:
            yield Note(f"{said} (lengths of 0 are not documented as allowed)")
    elif _attends(answer, empty):
        said = "a row with nothing to attend to attends to hidden positions"
        if allowed:
            yield Symptom(NAME, said, ("empty-row", "mask-value"), _overflowing_sum(exam, inputs))
        else:
            yield Note(f"{said} (lengths of 0 are not documented as allowed)")


def _overflowing_sum(exam: Examination, inputs: Inputs) -> Event | None:
    """Where two finite masks add up to infinity: hidden twice is not hidden once there."""
    event = first_infinite(exam.ask(inputs, trace=True).trace)
    return event if event is not None and event.op == "add" else None


def _holds_nan(answer: Answer, rows: Rows) -> bool:
    context, weights = answer.context, answer.weights
    in_context = context is not None and not np.isfinite(context[rows]).all()
    return in_context or (
        weights is not None and not np.isfinite(weights.transpose(0, 2, 1, 3)[rows]).all()
    )


def _attends(answer: Answer, rows: Rows) -> bool:
    """Whether an empty row has weight; without weights, whether its contexts are not constant."""
    if answer.weights is not None:
        return bool((np.abs(answer.weights.transpose(0, 2, 1, 3)[rows]) > 1e-6).any())
    if answer.context is None:
        return False
    contexts = answer.context[rows]  # zeros, or an output bias
    return bool((np.abs(contexts) > 1e-6).any()) and differs(contexts, 0 * contexts + contexts[:1])


CHECKS = (check(NAME, "a row with nothing to attend to gives zeros, never NaN", _empty_row),)
