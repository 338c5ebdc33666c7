"""``Mask``: the type that says who may attend to what, and its algebra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

Align: TypeAlias = Literal["start", "end"]


class Mask(ABC):
    """Who may attend to what. True means *may attend*, always.

    Build one with :meth:`lengths`, :meth:`causal` or :meth:`dense`; combine them with ``&``
    (both allow), ``|`` (either allows) and ``~`` (the opposite). A mask is a description: it
    becomes a tensor only when the lengths of queries and keys are known.

    >>> (Mask.lengths([2, 3]) & Mask.causal()).dense_for(query_len=3, key_len=3).int().tolist()
    [[[1, 0, 0], [1, 1, 0], [1, 1, 0]], [[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    """

    # ---- constructors -------------------------------------------------------------------
    @staticmethod
    def lengths(lengths: Sequence[int] | Sequence[Sequence[int]] | Shaped[Tensor, "..."]) -> Mask:
        """Each query may attend to the first ``lengths`` keys of its example.

        Shape ``(batch,)``: one length per example; ``(batch, query_len)``: one per query. A
        length of 0 is an empty row: its weights and context are zero.

        Raises:
            TypeError: the lengths are not whole numbers.
            ValueError: a length is negative, or (when used) longer than the key axis.

        >>> Mask.lengths([1, 2]).dense_for(query_len=1, key_len=2).int().tolist()
        [[[1, 0]], [[1, 1]]]
        """
        from regard.core.masks.lengths import Lengths

        return Lengths(lengths)

    @staticmethod
    def causal(align: Align | None = None) -> Mask:
        """No query may attend to a key after itself.

        ``align="start"``: query 0 sits at key 0. ``align="end"``: the last query sits at the last
        key, as when new queries attend to a cache. Where the two lengths are equal both mean the
        same and ``align`` may be left out; where they differ it must be given.

        >>> Mask.causal("end").dense_for(query_len=2, key_len=3).int().tolist()
        [[1, 1, 0], [1, 1, 1]]
        """
        from regard.core.masks.causal import Causal

        return Causal(align)

    @staticmethod
    def dense(may_attend: Shaped[Tensor, "..."]) -> Mask:
        """A bool tensor, True where the query may attend.

        Shape ``(query, key)``, ``(batch, query, key)`` or ``(batch, heads, query, key)``; its
        batch, heads and query axes may have size 1 and then serve all.

        Raises:
            TypeError: the tensor is not bool (0/1 numbers could mean either polarity).
            ValueError: it has fewer than two or more than four axes.

        >>> Mask.dense(torch.tensor([[True, False]])).dense_for(query_len=2, key_len=2).tolist()
        [[True, False], [True, False]]
        """
        from regard.core.masks.dense import Dense

        return Dense(may_attend)

    # ---- algebra ------------------------------------------------------------------------
    def __and__(self, other: Mask | Bool[Tensor, "..."]) -> Mask:
        from regard.core.masks.algebra import Both

        return Both(self, as_mask(other))

    def __or__(self, other: Mask | Bool[Tensor, "..."]) -> Mask:
        from regard.core.masks.algebra import Either

        return Either(self, as_mask(other))

    def __invert__(self) -> Mask:
        from regard.core.masks.algebra import Opposite

        return Opposite(self)

    __rand__ = __and__
    __ror__ = __or__

    # ---- use ----------------------------------------------------------------------------
    def dense_for(self, query_len: int, key_len: int) -> Bool[Tensor, "*lead query key"]:
        """The mask as a bool tensor ``(query, key)``, with its batch and heads in front, if any."""
        batch, heads = self._lead_sizes()
        self._check(batch, heads, query_len, key_len)
        grid = self._grid(query_len, key_len, torch.device("cpu"))
        grid = grid.expand(batch, heads, query_len, key_len)
        if self._rank < 4:
            grid = grid.squeeze(1)
        return grid.squeeze(0) if self._rank < 3 else grid

    def grid_for(
        self, scores_shape: Sequence[int], device: torch.device
    ) -> Bool[Tensor, "*lead query key"]:
        """The mask for scores of this shape, with size-1 axes wherever it serves all.

        ``scores_shape`` is ``(query, key)``, ``(batch, query, key)`` or
        ``(batch, heads, query, key)``, and the result has as many axes.

        Raises:
            ValueError: the mask does not fit, or could be read in two ways.
        """
        rank = len(scores_shape)
        query_len, key_len = scores_shape[-2:]
        batch = scores_shape[0] if rank > 2 else 1
        heads = scores_shape[1] if rank > 3 else 1
        self._check(batch, heads, query_len, key_len)
        grid = self._grid(query_len, key_len, device)
        if rank < 4:
            grid = grid.squeeze(1)
        return grid.squeeze(0) if rank < 3 else grid

    def hide(self, scores: Float[Tensor, "*lead query key"]) -> Float[Tensor, "*lead query key"]:
        """Scores with -inf where the query may not attend."""
        return scores.masked_fill(~self.grid_for(scores.shape, scores.device), -torch.inf)

    # ---- what each kind of mask answers -------------------------------------------------
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


def as_mask(may_attend: Mask | Shaped[Tensor, "..."]) -> Mask:
    """A ``Mask`` as it is; a bool tensor as ``Mask.dense``; anything else is refused."""
    if isinstance(may_attend, Mask):
        return may_attend
    if isinstance(may_attend, Tensor):
        return Mask.dense(may_attend)
    raise TypeError(
        f"may_attend is a {type(may_attend).__name__}. It must be a Mask or a bool tensor whose "
        "True means 'may attend'. Use Mask.lengths(...), Mask.causal() or Mask.dense(...)."
    )


def refuse_where(
    wrong: Bool[Tensor, "..."], rule: str, explain: Callable[[list[int]], str]
) -> None:
    """Raise ValueError if ``wrong`` holds anywhere, with ``explain(the first such index)``.

    Under compile and export it becomes an assertion in the graph, which says ``rule``; under vmap
    the numbers cannot be read, and nothing is checked.
    """
    if torch.compiler.is_compiling():
        torch._assert_async(~wrong.any(), rule)
    elif not torch._C._functorch.is_functorch_wrapped_tensor(wrong) and wrong.any():
        raise ValueError(explain(wrong.nonzero()[0].tolist()))
