"""`regard.diagnose`: what is wrong in an attention implementation, and how to put it right."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from regard.doctor.findings import Report
from regard.doctor.isolate import can_fork, run_forked, run_worker
from regard.doctor.load import split_target
from regard.doctor.memory import out_of_memory, ran_out
from regard.doctor.options import Options
from regard.doctor.report.as_json import from_json, to_json
from regard.doctor.watch import Limits, Stopped


def diagnose(
    obj: Any,
    *,
    bind: Mapping[str, str] | None = None,
    score: str | None = None,
    scale: float | int | None = None,
    layout: str | None = None,
    mask_true: str | None = None,
    convention: str | None = None,
    expected_failures: Collection[str] = (),
    timeout: float | int = 60.0,
    memory: float | int = 4.0,
    isolate: bool = True,
) -> Report:
    """Examine an attention implementation in NumPy or PyTorch, by running the code.

    `obj` is a function, an `nn.Module`, a class (its constructor's arguments are filled by their
    names), a factory without arguments, or the text `"FILE.py:NAME"`. What its arguments mean is
    inferred from names, comments and trial calls, and can be stated:

    - `bind`: the parameter of a role, as in `{"query": "hidden"}`; roles are query, key, value,
      mask, lengths, causal and token
    - `score`: additive, concat, dot, general, scaled_dot or other (one of your own); `scale`: what
      the scores are multiplied with
    - `layout`: batch_first or length_first; `mask_true`: attends or hides; `convention`: bahdanau
      (queries with the state before the step) or luong (after it)

    `expected_failures` are names of checks or of faults that are known and accepted. The code runs
    in a process of its own, which may take `timeout` seconds and `memory` GiB; with
    `isolate=False`, or where a process cannot be copied (Windows, macOS, after CUDA has started),
    an object runs here, without limits.

    The report's `status` is 0 (sound), 1 (faults found) or 2 (could not examine: `question` says
    why, or which of these arguments to give).

    Raises:
        ValueError: an argument is not one of those above, or there is no such file or name.

    Example:
        >>> import numpy as np
        >>> import regard
        >>> def attend(query, keys):
        ...     '''Dot-product attention. query (d,), keys (T, d)'''
        ...     scores = keys @ query
        ...     weights = np.exp(scores - scores.max())
        ...     weights = weights / weights.sum()
        ...     return weights @ keys, weights
        >>> regard.diagnose(attend).status
        0
    """
    options = Options(
        bind=dict(bind or {}),
        score=score,
        scale=scale,
        layout=layout,
        mask_true=mask_true,
        convention=convention,
        expected_failures=expected_failures,
    )
    limits = Limits(timeout, memory)
    if isinstance(obj, str):
        return _diagnose_file(obj, options, limits)
    from regard.doctor.look import look

    name = str(getattr(obj, "__qualname__", type(obj).__qualname__))
    if not isolate:
        return look(obj, options, name)
    if not can_fork():
        report = look(obj, options, name)
        told = "it ran in this process, without limits, since a process cannot be copied here"
        return replace(report, notes=(*report.notes, told))
    return _answered(
        name, lambda: run_forked(lambda: _told(obj, options, name), limits, _file(obj)), limits
    )


def _diagnose_file(target: str, options: Options, limits: Limits) -> Report:
    file, name = split_target(target)
    request = {
        "file": str(file),
        "name": name,
        "target": target,
        "options": options.to_json(),
    }
    return _answered(target, lambda: run_worker(request, limits, str(file)), limits)


def _told(obj: Any, options: Options, name: str) -> dict[str, Any]:
    """What the other process answers."""
    from regard.doctor.look import look

    try:
        return {"report": to_json(look(obj, options, name))}
    except ValueError as error:
        return {"error": str(error)}


def _answered(subject: str, run: Callable[[], dict[str, Any]], limits: Limits) -> Report:
    try:
        told = run()
    except Stopped as why:
        return Report(subject, question=f"{subject}: {why}")
    if "error" in told:
        raise ValueError(told["error"])
    report = from_json(told["report"])
    if ran_out(report.question):
        return replace(report, question=f"{subject}: {out_of_memory(report.question, limits)}")
    return report


def _file(obj: Any) -> str:
    try:
        return inspect.getsourcefile(obj if hasattr(obj, "__qualname__") else type(obj)) or ""
    except TypeError:
        return ""
