"""Places along an axis that an edit is for, as a user writes them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeAlias

import torch
from torch import Tensor

Positions: TypeAlias = SupportsIndex | slice | Sequence[SupportsIndex] | Tensor | None
"""A place, a slice or several places, counted from 0; None for all."""


class Places:
    """Places along one axis, in order: a tuple of some, or a range that may have no end."""

    def __init__(self, axis: str, given: Any) -> None:
        self.axis = axis
        self.some: tuple[int, ...] | None = None
        if isinstance(given, slice):
            self.start, self.stop, self.step = _slice(axis, given)
            return
        given = given.tolist() if hasattr(given, "tolist") else given  # of torch and numpy
        several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
        self.some = tuple(_place(axis, given, one) for one in (given if several else [given]))
        if not self.some:
            raise _wrong(axis, given, ValueError, "names no place")

    def on(self, first: int, size: int, device: torch.device) -> Tensor:
        """Which of the places ``first, first + 1, ...`` are among them, (size,)."""
        places = torch.arange(first, first + size, device=device)
        if self.some is not None:
            return torch.isin(places, torch.tensor(self.some, device=device))
        found = (places >= self.start) & ((places - self.start) % self.step == 0)
        return found if self.stop is None else found & (places < self.stop)


def _slice(axis: str, given: slice) -> tuple[int, int | None, int]:
    start, stop, step = (
        default if part is None else _place(axis, given, part)
        for part, default in ((given.start, 0), (given.stop, None), (given.step, 1))
    )
    assert start is not None
    if not step or (stop is not None and stop <= start):
        raise _wrong(axis, given, ValueError, "names no place")
    return start, stop, step


def _place(axis: str, given: object, one: Any) -> int:
    one = one.tolist() if hasattr(one, "tolist") else one
    if isinstance(one, bool):
        raise _wrong(axis, given, TypeError, "is a bool, which names no place")
    try:
        place = operator.index(one)
    except TypeError:
        raise _wrong(axis, given, TypeError, f"holds a {type(one).__name__}") from None
    if place < 0:
        raise _wrong(axis, given, ValueError, "counts from the end")
    return place


def _wrong(axis: str, given: object, kind: type[Exception], what: str) -> Exception:
    return kind(
        f"edit: {axis}={given!r} {what}. Places are whole numbers from 0 on, since how many there "
        f"will be is not known beforehand. Give one, a list or a slice, {axis}=[0, 2]; for a bool "
        "mask its places, mask.nonzero()[:, 0]."
    )
