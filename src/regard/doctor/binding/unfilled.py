"""Parameters that are left as memory happened to be: the code is built where that is NaN."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from regard.doctor.binding.runner import is_lazy
from regard.doctor.binding.subject import Subject

_BEYOND = 1e8  # no parameter starts there


def unfilled(subject: Subject, arguments: dict[str, Any]) -> tuple[str, ...]:
    """Names of parameters that hold NaN, or numbers beyond 1e8, as the code is built.

    An instance was built elsewhere: of it, this tells what its memory happens to hold.
    """
    made = subject.target
    if subject.kind == "class":
        with _empty_is_nan():
            try:
                made = subject.target(**arguments)
            except Exception:  # code that reads what it has not filled may raise on NaN
                return ()
    if not isinstance(made, torch.nn.Module) or is_lazy(made):
        return ()
    floats = ((n, p.detach()) for n, p in made.named_parameters() if p.is_floating_point())
    return tuple(n for n, p in floats if not _is_plausible(p.double().cpu().numpy()))


def _is_plausible(array: Any) -> bool:
    return bool(np.isfinite(array).all() and np.abs(array).max(initial=0.0) <= _BEYOND)


@contextmanager
def _empty_is_nan() -> Iterator[None]:
    """Within, torch fills the memory of `empty`, `Tensor(3, 4)` and the like with NaN."""
    before = torch.are_deterministic_algorithms_enabled()
    only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=only_warns)
