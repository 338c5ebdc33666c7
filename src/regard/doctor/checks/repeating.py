"""What a call leaves behind: nothing. Inputs are unchanged, the next call is fresh."""

from collections.abc import Iterator

import numpy as np

from regard.doctor.checks.asking import (
    ask,
    ask_twice,
    check,
    differ,
    differs,
    gap,
    parts,
    percent,
    pick_samples,
    require,
)
from regard.doctor.examination import Examination
from regard.doctor.symptoms import NotChecked, Symptom
from regard.doctor.tracing.trace import Event, Operand

RANDOM = "eval-is-deterministic"


def _unchanged(exam: Examination) -> Iterator[Symptom | NotChecked]:
    for lengths in (False, True) if {"mask", "lengths"} & exam.takes else (False,):
        changed = ask(exam, exam.inputs(lengths=lengths)).changed
        if changed:
            said = f"the call changes the caller's {', '.join(changed)} in place"
            yield Symptom("inputs-unchanged", said, ("in-place",))
            return


def _second_call(exam: Examination) -> Iterator[Symptom | NotChecked]:
    masked = bool({"mask", "lengths"} & exam.takes)
    second = exam.inputs(seed=1, lengths=masked)
    right, again = ask(exam, second), ask(exam, second)
    same = not any(differs(one, other) for _, one, other in parts(right, again))
    require(same, "two equal calls differ (see eval-is-deterministic)")
    order = list(range(len(second.query)))[::-1]
    for first in (exam.inputs(seed=2), pick_samples(exam.inputs(seed=3, lengths=masked), order)):
        stale = ask_twice(exam, first, second)
        for name, one, other in parts(right, stale):
            if differs(one, other):
                moved = percent(gap(one, other))
                said = f"after a call with other input the {differ(name)} by {moved}"
                yield Symptom("second-call-is-fresh", said, ("stale-cache", "in-place"))
                return


def _deterministic(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs()
    before, after = ask(exam, inputs), ask(exam, inputs)
    for name, one, other in parts(before, after):
        if differs(one, other):
            said = f"in eval, for equal input the {differ(name)} by {percent(gap(one, other))}"
            event = _first_random(exam)
            causes = ("dropout", "uninitialized")
            if event is not None and event.op.startswith(("empty", "new_empty")):
                causes = ("uninitialized", "dropout")
            yield Symptom(RANDOM, said, causes, event)
            return


def _first_random(exam: Examination) -> Event | None:
    """The first operation that gives two results for the same numbers."""
    one, two = (exam.ask(exam.inputs(), trace=True).trace.events for _ in range(2))
    for first, second in zip(one, two, strict=False):
        if first.op == "input" or first.place is None or first.op != second.op:
            continue
        given = zip(first.inputs, second.inputs, strict=False)
        made = zip(first.outputs, second.outputs, strict=False)
        if all(_same(a, b) for a, b in given) and not all(_same(a, b) for a, b in made):
            return first
    return None


def _same(one: Operand, other: Operand) -> bool:
    return np.array_equal(one.value, other.value, equal_nan=one.value.dtype.kind == "f")


CHECKS = (
    check("inputs-unchanged", "the caller's tensors are not changed", _unchanged),
    check("second-call-is-fresh", "a second call does not see the first's keys", _second_call),
    check(RANDOM, "in eval, equal input gives equal results", _deterministic),
)
