"""Masks made of masks: both, either, the opposite."""

from abc import abstractmethod

import torch
from jaxtyping import Bool
from torch import Tensor

from regard.core.masks.mask import Mask


class _Pair(Mask):
    def __init__(self, left: Mask, right: Mask) -> None:
        self._left, self._right = left, right

    @property
    def _rank(self) -> int:
        return max(self._left._rank, self._right._rank)

    def _lead_sizes(self) -> tuple[int, int]:
        (left_batch, left_heads), (right_batch, right_heads) = (
            self._left._lead_sizes(),
            self._right._lead_sizes(),
        )
        return (
            right_batch if left_batch == 1 else left_batch,
            right_heads if left_heads == 1 else left_heads,
        )

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        self._left._check(batch, heads, query_len, key_len)
        self._right._check(batch, heads, query_len, key_len)

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        return self._join(
            self._left._grid(query_len, key_len, device),
            self._right._grid(query_len, key_len, device),
        )

    @abstractmethod
    def _join(self, left: Tensor, right: Tensor) -> Tensor: ...


class Both(_Pair):
    """A position may be attended to where both masks allow it."""

    def __repr__(self) -> str:
        return f"({self._left!r} & {self._right!r})"

    @property
    def kind(self) -> str:
        return f"{_kind_within(self._left)}&{_kind_within(self._right)}"

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        return left & right


class Either(_Pair):
    """A position may be attended to where at least one mask allows it."""

    def __repr__(self) -> str:
        return f"({self._left!r} | {self._right!r})"

    @property
    def kind(self) -> str:
        return f"{_kind_within(self._left)}|{_kind_within(self._right)}"

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        return left | right


class Opposite(Mask):
    """A position may be attended to where the other mask forbids it."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def __repr__(self) -> str:
        return f"~{self._mask!r}"

    @property
    def kind(self) -> str:
        return f"~{_kind_within(self._mask)}"

    @property
    def _rank(self) -> int:
        return self._mask._rank

    def _lead_sizes(self) -> tuple[int, int]:
        return self._mask._lead_sizes()

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        self._mask._check(batch, heads, query_len, key_len)

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        return ~self._mask._grid(query_len, key_len, device)


def _kind_within(mask: Mask) -> str:
    return f"({mask.kind})" if isinstance(mask, _Pair) else mask.kind
