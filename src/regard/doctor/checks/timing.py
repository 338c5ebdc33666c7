"""Which state a decoder step scores with: s(t-1) for Bahdanau, s(t) for Luong."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from regard.doctor.checks.asking import ask, check, differs, fresh, parts, require
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer, Array
from regard.doctor.symptoms import NotChecked, Note, Symptom
from regard.doctor.tracing.locate import find, score_products
from regard.doctor.tracing.trace import Event

CELL = re.compile("gru|lstm|rnn")
STATES = {"bahdanau": "s(t-1)", "luong": "s(t)"}


def _context_enters(exam: Examination) -> Iterator[Symptom]:
    """Bahdanau's cell is fed the context of its own step: other keys give another new state."""
    inputs = exam.inputs()
    state = (len(inputs.query), inputs.query.shape[2])
    other = inputs.with_(key=fresh(inputs.keys, 19))
    before, after = (_states(exam.ask(asked).raw, state) for asked in (inputs, other))
    context = ask(exam, inputs).context
    known = None if context is None else context[:, 0]
    pairs = [
        (one, two)
        for one, two in zip(before, after, strict=False)
        if known is None or known.shape != one.shape or differs(one, known)
    ]
    if pairs and not any(differs(one, two) for one, two in pairs):
        said = "the new state does not feel the context of its own step"
        yield Symptom("decoder-timing", said, ("decoder-timing",), _cell(exam))


def _cell(exam: Examination) -> Event | None:
    """The recurrent step."""
    events = exam.ask(exam.inputs(), trace=True).trace.events
    return next((e for e in events if CELL.search(e.op) and e.place is not None), None)


def _scored(exam: Examination, answer: Answer) -> Event | None:
    """What made these weights' scores, else the weights, at the line of the step that asked."""
    trace = exam.ask(exam.inputs(), trace=True).trace
    if answer.weights is None:
        return None
    weighed = [e for e, _ in find(trace, answer.weights) if e.op != "input"]
    end = trace.events.index(weighed[0]) if weighed else len(trace.events)
    scored = [p.event for p in score_products(trace) if p.index < end]  # of two, the later
    made = [e for e in (*scored[::-1], *weighed) if e.place is not None]
    if not made:
        return None
    outer = made[0].settings.get("called_from") or ()
    return replace(made[0], place=outer[-1]) if outer else made[0]


def _states(raw: Any, shape: tuple[int, int]) -> list[Array]:
    """Every array of the size of a state in what was returned."""
    if isinstance(raw, dict):
        raw = list(raw.values())
    if isinstance(raw, list | tuple):
        return [array for item in raw for array in _states(item, shape)]
    if not hasattr(raw, "shape"):
        return []
    raw = raw.detach().cpu().double().numpy() if hasattr(raw, "detach") else np.asarray(raw)
    squeezed = [size for size in raw.shape if size != 1]
    return [raw.astype(float).reshape(shape)] if tuple(squeezed) == shape else []


def _timing(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require("step" in exam.takes, "the code is no decoder step")
    inputs = exam.inputs()
    token = inputs.extra.get("token")
    require(isinstance(token, np.ndarray), "the step takes no input token")
    assert isinstance(token, np.ndarray)
    if np.issubdtype(token.dtype, np.integer):
        other: np.ndarray = (token + 1) % exam.sizes.vocab
    else:
        other = fresh(token, 18)
    before = ask(exam, inputs)
    after = ask(exam, inputs.with_(extra={**inputs.extra, "token": other}))
    seen = list(parts(before, after))
    require(before.weights is not None, "the step returns no weights")
    name, one, two = seen[0]
    moves = differs(one, two)
    found = "luong" if moves else "bahdanau"
    said = f"the {name} of step t {'move' if moves else 'do not move'} with its input token"
    meaning = f"{said}: scored with {STATES[found]}"
    if exam.convention and exam.convention != found:
        right = f"{exam.convention.capitalize()} scores with {STATES[exam.convention]}"
        event = _scored(exam, before)
        yield Symptom("decoder-timing", f"{meaning}, where {right}", ("decoder-timing",), event)
    else:
        if exam.convention == "bahdanau" and exam.framework == "torch":
            yield from _context_enters(exam)
        yield Note(f"{meaning}, as {found.capitalize()} does")


CHECKS = (
    check("decoder-timing", "the step scores with the state that its convention names", _timing),
)
