"""What may be done to attention while it runs: edits of scores or weights, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from numbers import Real
from typing import TypeAlias, TypedDict

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import Unpack

from regard.core.errors import shape_text
from regard.recording.positions import Places, Positions

Change: TypeAlias = Callable[[Tensor, Tensor, int], Tensor]
"""``change(weights or scores, visible, first query) -> new ones``, (batch, heads, query, key)."""

AT = ("scores", "weights")
AXES = ("example", "head", "query", "key")


class Where(TypedDict, total=False):
    """Which cells an edit is for; what is left out means all.

    ``site`` is a name or a pattern, ``decoder.*``. Places are counted from 0. In a decoder that
    runs step by step ``query`` is the step.
    """

    site: str
    example: Positions
    head: Positions
    query: Positions
    key: Positions


@dataclass(frozen=True)
class Edit:
    """A change of scores (before normalizing) or weights (after it, before dropout).

    ``change`` gives a whole new grid, of which the cells that ``where`` names are taken. Whatever
    it says, hidden positions stay hidden. ``renormalize`` divides each row of weights by its sum
    afterwards; a row without any weight left stays 0. (What a sink of the model took is no part of
    that sum.)
    """

    change: Change
    where: Where
    at: str = "weights"
    renormalize: bool = False
    places: dict[str, Places] = field(init=False, repr=False, compare=False)
    """What ``where`` names on each axis."""

    def __post_init__(self) -> None:
        if self.at not in AT:
            raise ValueError(f"edit: at={self.at!r} is unknown. Choose one of: {', '.join(AT)}.")
        if self.renormalize and self.at == "scores":
            raise ValueError(
                "edit: at='scores' with renormalize=True. Scores are normalized after the edit "
                "anyway. Leave renormalize out."
            )
        if unknown := sorted(set(self.where) - set(Where.__annotations__)):
            raise TypeError(
                f"edit: {', '.join(unknown)} is unknown. Cells are named by "
                f"{', '.join(Where.__annotations__)}. Leave out what is to be all."
            )
        if not isinstance(self.where.get("site", ""), str):
            raise TypeError(
                f"edit: site={self.where['site']!r} is a {type(self.where['site']).__name__}. A "
                "site is a name or a pattern. Give one of trace.names, for example "
                "site='decoder.*'."
            )
        named = {axis: self.where.get(axis) for axis in AXES}
        places = {axis: Places(axis, given) for axis, given in named.items() if given is not None}
        object.__setattr__(self, "places", places)

    def is_for(self, site: str) -> bool:
        """Whether this site is among those it names."""
        return fnmatchcase(site, self.where.get("site", "*"))

    def apply(self, grid: Tensor, visible: Tensor, first_query: int) -> Tensor:
        """The grid with the edit made. A change that gives the grid itself changes no bit."""
        changed = self.change(grid, visible, first_query)
        if changed is grid:
            return grid
        cells = visible
        for axis, name in enumerate(AXES):
            if name in self.places:
                first = first_query if name == "query" else 0
                found = self.places[name].on(first, grid.shape[axis], grid.device)
                cells = cells & found.view([-1 if other == axis else 1 for other in range(4)])
        edited = torch.where(cells, changed, grid)
        if self.renormalize:
            total = edited.sum(-1, keepdim=True)
            edited = edited / total.masked_fill(total == 0.0, 1.0)
        return edited


def identity(**where: Unpack[Where]) -> Edit:
    """No change: what is attended to is what would have been, bit for bit."""
    return Edit(lambda grid, visible, first: grid, where)


def replace(new: Float[Tensor, "..."], *, at: str = "weights", **where: Unpack[Where]) -> Edit:
    """Other weights (or scores), taken as they are: they are not normalized.

    ``new`` has the grid's shape (batch, heads, query, key), where batch, heads and query may be 1
    and then serve all; or as many queries as a decoder will make steps.
    """
    if not isinstance(new, Tensor) or not new.is_floating_point():
        kind = f"tensor of {new.dtype}" if isinstance(new, Tensor) else type(new).__name__
        raise TypeError(
            f"edits.replace: new is a {kind}. It must be a floating-point torch tensor. Write "
            "torch.as_tensor(new, dtype=torch.float32)."
        )
    least, meaning = (0.0, "weight") if at == "weights" else (-math.inf, "score")
    if not ((new >= least) & (new < math.inf)).all():  # NaN is neither
        raise ValueError(
            f"edits.replace: new {shape_text(new.shape)} holds NaN, inf or less than {least} for a "
            f"{meaning}. Each must be a number, of weights from 0 on, of scores -inf to hide. Look "
            "at new.isnan() and new.min()."
        )
    if new.dim() != 4:
        raise ValueError(
            f"edits.replace: new {shape_text(new.shape)}. It must be (batch, heads, query, key), "
            "where the first three may be 1. Add axes: new[None, None]."
        )

    def change(grid: Tensor, visible: Tensor, first_query: int) -> Tensor:
        queries, keys = grid.shape[2:]
        part = new
        if new.shape[2] not in (1, queries) or (new.shape[2] > 1 and first_query > 0):
            part = new[:, :, first_query : first_query + queries]
        part = part[..., :keys] if new.shape[3] > keys and new.shape[2] > queries else part
        if any(size not in (1, of) for size, of in zip(part.shape[:3], grid.shape, strict=False)):
            raise _unfit(new, grid, first_query)
        if part.shape[3] != keys:
            raise _unfit(new, grid, first_query)
        return part.to(grid.dtype).expand_as(grid)

    return Edit(change, where, at)


def zero(*, renormalize: bool, **where: Unpack[Where]) -> Edit:
    """No weight on these cells.

    With ``renormalize`` the rest of the row sums to 1 again, as if the cells' scores had been -inf
    (Serrano & Smith 2019, arXiv:1906.03731, section 3); without, what they weighed is gone.
    """
    return Edit(lambda grid, visible, first: torch.zeros_like(grid), where, "weights", renormalize)


def boost(
    amount: float, *, at: str = "scores", renormalize: bool = False, **where: Unpack[Where]
) -> Edit:
    """Add ``amount`` to the scores of these cells, or multiply their weights by it.

    Scores may be given -inf, which hides; weights are multiplied by a finite number from 0 on.
    """
    if not _is_number(amount):
        raise TypeError(
            f"edits.boost: amount is a {type(amount).__name__}. It must be a number. Write "
            "boost(2.0), or float(amount)."
        )
    if at == "weights" and not 0.0 <= amount < math.inf:
        raise ValueError(
            f"edits.boost: amount={amount} at='weights'. Weights stay numbers from 0 on. Give a "
            "finite factor of at least 0, or change the scores, boost(amount, at='scores')."
        )
    if math.isnan(amount) or amount == math.inf:
        raise ValueError(
            f"edits.boost: amount={amount}. A score plus it must be a number, or -inf to hide. "
            "Give a finite amount; to leave one key alone, zero the others."
        )
    if at == "scores":
        return Edit(lambda grid, visible, first: grid + amount, where, at, renormalize)
    return Edit(lambda grid, visible, first: grid * amount, where, at, renormalize)


def uniform(**where: Unpack[Where]) -> Edit:
    """The same weight on every key that may be attended to."""

    def change(grid: Tensor, visible: Tensor, first_query: int) -> Tensor:
        return visible / visible.sum(-1, keepdim=True).clamp(min=1).to(grid.dtype)

    return Edit(change, where)


def permute(generator: torch.Generator | None = None, **where: Unpack[Where]) -> Edit:
    """Each row's weights in another order, drawn anew, among the keys that may be attended to.

    (Jain & Wallace 2019, arXiv:1902.10186, section 4.2.1.) Whole rows only: ``key`` is refused.
    """
    if not isinstance(generator, torch.Generator | None):
        raise TypeError(
            f"edits.permute: generator is a {type(generator).__name__}. It must be a "
            "torch.Generator, or None. Write torch.Generator().manual_seed(5)."
        )
    if where.get("key") is not None:
        raise ValueError(
            "edits.permute: key is given. A row is permuted as a whole, so that it still sums to "
            "1. Leave key out; name queries, heads, examples or sites."
        )

    def change(grid: Tensor, visible: Tensor, first_query: int) -> Tensor:
        drawn = torch.rand(grid.shape, generator=generator, device=grid.device)
        order = drawn.masked_fill(~visible, 2.0).argsort(-1)  # visible first, in a random order
        in_place = (
            (~visible).to(torch.uint8).argsort(dim=-1, stable=True)
        )  # visible first, in order
        return torch.zeros_like(grid).scatter(-1, in_place, grid.gather(-1, order))

    return Edit(change, where)


def _is_number(given: object) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool)


def _unfit(new: Tensor, grid: Tensor, first_query: int) -> ValueError:
    return ValueError(
        f"edits.replace: new {shape_text(new.shape)}, but the site has {shape_text(grid.shape)} "
        f"(batch, heads, query, key) from query {first_query} on. Batch, heads and query may be 1, "
        "the rest must be equal. Name the site it is for: replace(new, site=...)."
    )
