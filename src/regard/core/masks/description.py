"""What every mask answers, once the sizes are known, and what each kind says of itself for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from regard.core.masks.hiding import Hiding
from regard.core.masks.intervals import Intervals


class Description(ABC):
    """A mask without its constructors and its algebra, which are :class:`Mask`'s."""

    _last_hiding: tuple[tuple[object, ...], Hiding] | None = None

    def dense_for(self, query_len: int, key_len: int) -> Bool[Tensor, "*lead query key"]:
        """The mask as a bool tensor ``(query, key)``, with its batch and heads in front, if any.

        Raises:
            TypeError: a length is no whole number.
            ValueError: a length is negative, or the mask does not fit.
        """
        _check_lens(query_len=query_len, key_len=key_len)
        batch, heads = self._lead_sizes()
        self._check(batch, heads, query_len, key_len)
        grid = self._grid(query_len, key_len, torch.device("cpu"))
        return _lead_axes(grid.expand(batch, heads, query_len, key_len), self._rank)

    def grid_for(
        self, scores_shape: Sequence[int], device: torch.device
    ) -> Bool[Tensor, "*lead query key"]:
        """The mask for scores of this shape, with size-1 axes wherever it serves all.

        ``scores_shape`` is ``(query, key)``, ``(batch, query, key)`` or
        ``(batch, heads, query, key)``, and the result has as many axes.

        Raises:
            ValueError: the mask does not fit, or could be read in two ways.
        """
        query_len, key_len = self._fit(scores_shape)
        return _lead_axes(self._grid(query_len, key_len, device), len(scores_shape))

    def hide(self, scores: Float[Tensor, "*lead query key"]) -> Float[Tensor, "*lead query key"]:
        """Scores with -inf where the query may not attend."""
        return scores.masked_fill(~self.grid_for(scores.shape, scores.device), -torch.inf)

    def hiding_for(
        self, scores_shape: Sequence[int], device: torch.device, dtype: torch.dtype
    ) -> Hiding:
        """The mask as it is added to scores of this shape. What comes back must not be written to.

        A mask whose numbers are its own keeps the last, if small, for the next step of a decoder.

        Raises:
            ValueError: the mask does not fit, or could be read in two ways.
        """
        asked = (*scores_shape, device, dtype)
        known = None if torch.compiler.is_compiling() else self._last_hiding  # read once: threads
        if known is not None and known[0] == asked:
            return known[1]
        grid = self.grid_for(scores_shape, device)
        one_row = grid.shape[-2] == 1  # for all queries
        hiding = Hiding(
            torch.where(grid, 0.0, -torch.inf).to(dtype),
            ~grid.squeeze(-2) if one_row else self.unseen_keys(scores_shape, device),
        )
        if self._is_fixed and hiding.may_be_kept():
            self._last_hiding = asked, hiding
        return hiding

    def unseen_keys(
        self, scores_shape: Sequence[int], device: torch.device
    ) -> Bool[Tensor, "*lead key"] | None:
        """True for keys that no query may attend to, with size-1 axes wherever one serves all.

        None if every key is seen by some query, whatever the numbers in the mask. No (query, key)
        grid is built to know it, but for a dense mask, which is one, for ``~`` of a mask that
        differs from query to query, and for ``&`` of two that do, unless they are intervals.

        Raises:
            ValueError: the mask does not fit, or could be read in two ways.
        """
        query_len, key_len = self._fit(scores_shape)
        rank = len(scores_shape)
        if query_len == 0:
            return torch.ones((1,) * (rank - 2) + (key_len,), dtype=torch.bool, device=device)
        unseen = self._unseen(query_len, key_len, device)
        return None if unseen is None else _lead_axes(unseen, rank)

    def blind_queries(
        self, scores_shape: Sequence[int], device: torch.device
    ) -> Bool[Tensor, "*lead query"] | None:
        """True for queries that may attend to nothing, with size-1 axes wherever one serves all.

        None if it is known without looking that each may attend to something.

        Raises:
            ValueError: the mask does not fit, or could be read in two ways.
        """
        if self._all_see(*self._fit(scores_shape)):
            return None
        intervals = self.intervals(scores_shape, device)
        if intervals is not None:
            return intervals.start >= intervals.stop
        return ~self.grid_for(scores_shape, device).any(dim=-1)

    def intervals(self, scores_shape: Sequence[int], device: torch.device) -> Intervals | None:
        """From which key to which each query may attend; None if that does not describe the mask.

        It describes lengths, causal masks, windows, and their intersections.

        Raises:
            ValueError: the mask does not fit, or could be read in two ways.
        """
        query_len, key_len = self._fit(scores_shape)
        found = self._intervals(query_len, key_len, device)
        if found is None:
            return None
        return Intervals(*(_lead_axes(t, len(scores_shape)) for t in found.within(key_len)))

    def visible_share(self, query_len: int, key_len: int) -> float:
        """The share of (query, key) pairs that may attend, over its batch and heads; 0 of none.

        Raises:
            ValueError: the mask does not fit these lengths.

        >>> from regard import Mask
        >>> Mask.causal().visible_share(query_len=4, key_len=4)  # 10 of 16
        0.625
        """
        self._check(*self._lead_sizes(), query_len, key_len)
        visible, pairs = self._num_visible(query_len, key_len)
        return visible / pairs if query_len and pairs else 0.0

    # ---- what each kind of mask says of itself ------------------------------------------
    @abstractmethod
    def __str__(self) -> str:
        """How it was made, on one line."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """One word for what it is, by which a kernel says whether it can serve it."""

    @property
    @abstractmethod
    def _rank(self) -> int:
        """Axes it speaks of: 2 (query, key), 3 (with batch) or 4 (with batch and heads)."""

    @abstractmethod
    def _lead_sizes(self) -> tuple[int, int]:
        """Its own batch and heads, 1 where it serves all."""

    @abstractmethod
    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        """Raise ValueError unless it fits these sizes in exactly one way."""

    @abstractmethod
    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        """The four-axis bool tensor, with size-1 axes wherever it serves all."""

    # ---- and what some can say in a shorter way -----------------------------------------
    @property
    def _alike(self) -> bool:
        """Whether it is known that every query may attend to the same keys."""
        return False

    @property
    def _is_fixed(self) -> bool:
        """Whether nobody else holds its numbers, and could change them."""
        return True

    def _own_lens(self) -> tuple[int | None, int | None]:
        """The query_len and key_len it was made for, None where it fits any."""
        return None, None

    def _intervals(self, query_len: int, key_len: int, device: torch.device) -> Intervals | None:
        """``intervals`` with axes (batch, heads, query), not yet within the key axis."""
        return None

    def _unseen(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads key"] | None:
        """``unseen_keys`` with three axes, for one query or more."""
        return ~self._grid(query_len, key_len, device).any(dim=-2)

    def _all_see(self, query_len: int, key_len: int) -> bool:
        """Whether it is known, and cheap to know, that each query may attend to some key."""
        return False

    def _num_visible(self, query_len: int, key_len: int) -> tuple[int, int]:
        """How many pairs may attend, of how many, in any sample that has its visible share."""
        device = torch.device("cpu")
        intervals = self._intervals(query_len, key_len, device)
        if intervals is None:
            grid = self._grid(query_len, key_len, device)
            return int(grid.sum()), grid.numel()
        start, stop = intervals.within(key_len)
        keys = stop - start
        return int(keys.sum()), keys.numel() * key_len

    def _fit(self, scores_shape: Sequence[int]) -> tuple[int, int]:
        batch, heads = (*scores_shape[:-2], 1, 1)[:2]
        query_len, key_len = scores_shape[-2:]
        self._check(batch, heads, query_len, key_len)
        return query_len, key_len


def _lead_axes(tensor: Shaped[Tensor, "..."], rank: int) -> Shaped[Tensor, "..."]:
    """From (batch, heads, ...) to the leading axes of scores of this rank."""
    if rank < 4:
        tensor = tensor.squeeze(1)
    return tensor.squeeze(0) if rank < 3 else tensor


def _check_lens(**lens: Any) -> None:
    for name, given in lens.items():
        if isinstance(given, bool) or not isinstance(given, Integral | torch.SymInt):
            raise TypeError(
                f"dense_for: {name}={given!r} is a {type(given).__name__}. It counts positions, so "
                "it must be a whole number. Pass an int, x.shape[1] for example."
            )
        if given < 0:
            raise ValueError(
                f"dense_for: {name}={given}. It counts positions, so it cannot be negative. "
                "Pass 0 or more."
            )
