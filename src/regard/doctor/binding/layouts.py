"""Whether samples are kept apart only in the other layout, and nothing says which is meant."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from regard.doctor.binding.binding import Question, Slot
from regard.doctor.binding.conventions import Stated
from regard.doctor.binding.subject import Subject
from regard.doctor.binding.trial import Attempt, attempt_call, draw_inputs, try_out, with_outputs
from regard.doctor.probe import Inputs


def layout_question(
    subject: Subject,
    attempt: Attempt,
    slots: tuple[Slot, ...],
    told: Mapping[str, tuple[str, ...]],
    said: Stated,
) -> Question | None:
    """Ask where batch-first mixes samples, length-first does not, and nothing says which it is."""
    if any(s.name in told for s in slots if s.role in ("query", "key")):
        return None
    if attempt.binding.leading.axes != "BTD" or not mixes(subject, attempt):
        return None
    for frame in (("TBD", "TBD"), ("BD", "TBD"), ("1BD", "TBD")):
        query = attempt.binding.slot("query")
        if query is None or ("T" in frame[0]) != ("T" in query.axes):
            continue
        turned = tuple(
            replace(s, axes=frame[0] if s.role == "query" else frame[1])
            if s.role in ("query", "key", "value")
            else s
            for s in attempt.binding.slots
        )
        other = replace(attempt, binding=replace(attempt.binding, slots=turned))
        trial = try_out(subject, other)
        if trial.perfect and not mixes(subject, with_outputs(trial)):
            return Question(
                f"{subject.name} keeps samples apart only if its arrays are (length, batch, dim), "
                "and nothing says which layout it means. State it with --layout length-first, or "
                "--layout batch-first to have the mixing reported."
            )
    return None


def _small(inputs: Inputs) -> Inputs:
    """The same with small queries and keys, so that no softmax saturates and hides who is felt."""
    key = None if inputs.key is None else inputs.key * 0.2
    return inputs.with_(query=inputs.query * 0.2, key=key)


def mixes(subject: Subject, attempt: Attempt) -> bool:
    """Whether sample 0 moves when another sample's input does."""
    binding = attempt.binding
    if binding.loops_batch:
        return False
    first, other = _small(draw_inputs(binding)), _small(draw_inputs(binding, seed=3))
    changed: dict[str, Any] = {}
    for name in ("query", "key", "value"):
        array = getattr(first, name)
        if array is not None:
            changed[name] = np.concatenate([array[:1], getattr(other, name)[1:]])
    answers = [attempt_call(subject, attempt, x) for x in (first, first.with_(**changed))]
    if any(answer.failure for answer in answers):
        return False
    for form, (_, one), (_, two) in zip(
        binding.outputs, answers[0].found, answers[1].found, strict=False
    ):
        if form.role in ("context", "weights") and "B" in form.axes:
            at = form.axes.index("B")
            pair = [
                np.asarray(x.detach() if hasattr(x, "detach") else x).take(0, at)
                for x in (one, two)
            ]
            if np.abs(pair[0] - pair[1]).max(initial=0.0) > 1e-4:
                return True
    return False
