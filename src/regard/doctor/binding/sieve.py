"""Passes over attempts that must fail as an earlier one did."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from regard.doctor.binding.binding import MaskForm
from regard.doctor.binding.parameters import Dims
from regard.doctor.binding.trial import Attempt, Trial


@dataclass
class Sieve:
    """What failed so far, for one construction of the code.

    Mask forms: a line that raises alike for two forms does not depend on the mask's axes, and one
    that raises alike for two types does not depend on the mask at all. Shapes of weights: a line
    that raises is not mended by other shapes of weights that it does not name.
    """

    _forms: dict[Any, list[tuple[MaskForm, Any]]] = field(default_factory=dict)
    _shapes: set[Any] = field(default_factory=set)
    _named: set[tuple[str, ...]] = field(default_factory=set)

    def passes(self, attempt: Attempt) -> bool:
        """Whether the attempt may do better than those before it."""
        form, bare = attempt.binding.mask, _bare(attempt)
        if form is not None:
            seen = self._forms.get((bare, attempt.dims), [])
            alike = [(a, b) for a, x in seen for b, y in seen if x == y and a.axes != b.axes]
            if any(a.dtype == form.dtype == b.dtype or a.dtype != b.dtype for a, b in alike):
                return False
        dims = dict(attempt.dims)
        return not any((bare, _of(names, dims)) in self._shapes for names in self._named)

    def failed(self, trial: Trial) -> None:
        """Take note of a call that raised."""
        attempt, failure = trial.attempt, trial.returned.failure
        if failure is None or not failure.line:
            return
        form, bare = attempt.binding.mask, _bare(attempt)
        slot = attempt.binding.slot("mask")
        refuses = failure.refuses and (slot is None or slot.name in failure.code)
        if form is not None and not refuses:  # a refusal says the same of every wrong mask
            said = (failure.line, failure.message)
            self._forms.setdefault((bare, attempt.dims), []).append((form, said))
        dims = dict(attempt.dims)
        names = tuple(n for n in dims if re.search(rf"\b{re.escape(n)}\b", failure.code))
        if names:
            self._named.add(names)
            self._shapes.add((bare, _of(names, dims)))


def _bare(attempt: Attempt) -> Any:
    """What the attempt assumes beside the mask's form and the shapes of weights."""
    return repr(replace(attempt.binding, mask=None))


def _of(names: tuple[str, ...], dims: dict[str, Dims]) -> tuple[tuple[str, Dims], ...]:
    return tuple((name, dims[name]) for name in names if name in dims)
