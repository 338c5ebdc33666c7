"""Calls the examined code under the recorder of its framework."""

import warnings
from typing import Any

import numpy as np

from regard.doctor.binding.runner import Returned, entry, failed, gathered, stored
from regard.doctor.binding.subject import Subject
from regard.doctor.tracing.recorder import Recorded
from regard.doctor.tracing.trace import Trace
from regard.doctor.tracing.trace_numpy import record_numpy
from regard.doctor.tracing.trace_torch import record_torch


def record(
    subject: Subject,
    owner: Any,
    by_role: dict[str, Any],
    names: dict[str, str],
    parameters: dict[str, Any],
) -> tuple[Returned, Trace]:
    """The answer and the trace of one call; its inputs are named by role."""
    own = {role for role in by_role if role in parameters}
    named = {role: value for role, value in by_role.items() if role not in own}

    def run(given: dict[str, Any], weights: dict[str, Any]) -> Any:
        found = {**given, **{name: weights[name] for name in own}}
        for name, value in weights.items():  # arrays that the constructor took
            if name not in own and isinstance(getattr(owner, name, None), np.ndarray):
                setattr(owner, name, value)
        return entry(subject, owner)(**{names[role]: value for role, value in found.items()})

    before = stored(subject, owner)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        recorder = record_torch if subject.framework == "torch" else record_numpy
        recorded: Recorded = recorder(run, named, parameters, subject.file)
    if recorded.error is not None:
        return failed(recorded.error, subject), recorded.trace
    return gathered(subject, owner, before, recorded.result), recorded.trace
