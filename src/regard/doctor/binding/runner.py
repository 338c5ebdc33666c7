"""Runs the examined code once, on a fresh copy, and catches what it raises."""

import copy
import inspect
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from regard.doctor.binding.outputs import arrays
from regard.doctor.binding.roles import call_role
from regard.doctor.binding.subject import Subject
from regard.doctor.probe import Failure

_WEIGHTS = re.compile(r"att|weight|alpha|prob|align")


@dataclass(frozen=True)
class Returned:
    """What one call gave, or how it failed; `progress` orders failures by how far they came."""

    value: Any = None
    found: tuple[tuple[str, Any], ...] = ()
    failure: Failure | None = None
    progress: tuple[int, ...] = ()


def fresh(subject: Subject, made: Any, init: dict[str, Any] | None = None) -> Any:
    """A copy that no earlier call has touched; plain classes over arrays are built anew."""
    if subject.kind == "function":
        return subject.target
    if init is not None:
        return subject.target(**init)
    return copy.deepcopy(made)


def call(subject: Subject, owner: Any, given: dict[str, Any]) -> Returned:
    """One call, with what it stores on itself beside what it returns."""
    before = stored(subject, owner)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value = entry(subject, owner)(**given)
    except Exception as error:
        return failed(error, subject)
    return gathered(subject, owner, before, value)


def gathered(subject: Subject, owner: Any, before: dict[str, Any], value: Any) -> Returned:
    """The arrays of an answer, and the weights that the call newly stored on its owner."""
    found = arrays(value)
    returned = {id(array) for _, array in found}
    for name, array in stored(subject, owner).items():
        new = before.get(name) is not array and id(array) not in returned
        if new and _WEIGHTS.search(name.lower()):
            found.append((f"self.{name}", array))
    return Returned(value=value, found=tuple(found))


def failed(error: Exception, subject: Subject) -> Returned:
    """What is known of an error, with the last line that it passed in the user's file."""
    return Returned(failure=failure_of(error, subject), progress=_progress(error, subject))


def entry(subject: Subject, owner: Any) -> Callable[..., Any]:
    """What is called: the function, the module (so that its hooks run), or the method."""
    if subject.kind == "function":
        return owner
    through_call = subject.method in ("forward", "call") and isinstance(owner, torch.nn.Module)
    plain: Callable[..., Any] = owner if through_call else getattr(owner, subject.method)
    first = _preparation(subject, owner)
    return plain if first is None else partial(_prepared, subject, plain, first)


def _preparation(subject: Subject, owner: Any) -> Callable[[Any], Any] | None:
    """A public method that takes the keys alone, which some code wants called before."""
    for name, method in vars(type(owner)).items():
        if name.startswith("_") or name == subject.method or not inspect.isfunction(method):
            continue
        taken = list(inspect.signature(method).parameters)[1:]
        if len(taken) == 1 and call_role(taken[0]) == "key":
            return getattr(owner, name)
    return None


def _prepared(
    subject: Subject, plain: Callable[..., Any], prepare: Callable[[Any], Any], **given: Any
) -> Any:
    """The call; where the code refuses it as it stands, once more with its keys prepared."""
    try:
        return plain(**given)
    except Exception as error:
        key = next((n for n in given if call_role(n) in ("key", "value")), None)
        if key is None or not failure_of(error, subject).refuses:
            raise
    prepare(given[key])
    return plain(**given)


def stored(subject: Subject, owner: Any) -> dict[str, Any]:
    """Arrays kept as attributes, of submodules too."""
    if subject.kind == "function":
        return {}
    modules = owner.named_modules() if isinstance(owner, torch.nn.Module) else [("", owner)]
    kept: dict[str, Any] = {}
    for prefix, module in modules:
        for name, value in getattr(module, "__dict__", {}).items():
            if isinstance(value, torch.Tensor | np.ndarray):
                kept[f"{prefix}.{name}".lstrip(".")] = value
    return kept


def failure_of(error: Exception, subject: Subject) -> Failure:
    """The error, with the last line that it passed in the user's file."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == subject.file]
    text = str(error).split("\nException raised from")[0]
    if not frames:
        return Failure(type(error).__name__, text)
    last = frames[-1]
    return Failure(type(error).__name__, text, last.filename, last.lineno or 0, last.line or "")


def _progress(error: Exception, subject: Subject) -> tuple[int, ...]:
    """The lines it stood at, from the entry inwards: later lines came further."""
    frames = traceback.extract_tb(error.__traceback__)
    return tuple(f.lineno or 0 for f in frames if f.filename == subject.file)


def randomize(module: torch.nn.Module, seed: int) -> None:
    """Normal parameters of deviation .5, so that no bias of zeros hides a fault.

    Scalars (a learned temperature) keep their value.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim and parameter.is_floating_point():
                drawn = torch.randn(parameter.shape, generator=generator) * 0.5
                parameter.copy_(drawn)


def is_lazy(module: Any) -> bool:
    """Whether parameters wait for a first call to get their shapes (torch's lazy ones, Keras)."""
    if not isinstance(module, torch.nn.Module):
        return False
    lazy = torch.nn.parameter.UninitializedParameter
    unbuilt = getattr(module, "built", None) is False
    return unbuilt or any(isinstance(p, lazy) for p in module.parameters())
