"""Masks made of masks: both, either, the opposite."""

from abc import abstractmethod

import torch
from jaxtyping import Bool
from torch import Tensor

from regard.core.masks.intervals import Intervals
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

    @property
    def _alike(self) -> bool:
        return self._left._alike and self._right._alike

    @property
    def _is_fixed(self) -> bool:
        return self._left._is_fixed and self._right._is_fixed

    def _own_lens(self) -> tuple[int | None, int | None]:
        queries, keys = zip(self._left._own_lens(), self._right._own_lens(), strict=True)
        # lengths know their longest, and the key axis is at least that
        return (
            max((size for size in queries if size is not None), default=None),
            max((size for size in keys if size is not None), default=None),
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

    def __str__(self) -> str:
        return f"({self._left} & {self._right})"

    @property
    def kind(self) -> str:
        return "&".join(_kind_within(part) for part in self.parts)

    @property
    def parts(self) -> tuple[Mask, ...]:
        return self._left.parts + self._right.parts

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        return left & right

    def _intervals(self, query_len: int, key_len: int, device: torch.device) -> Intervals | None:
        left = self._left._intervals(query_len, key_len, device)
        right = self._right._intervals(query_len, key_len, device)
        return None if left is None or right is None else left & right

    def _unseen(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads key"] | None:
        if self._left._alike or self._right._alike:  # what such a part hides, it hides from all
            left = self._left._unseen(query_len, key_len, device)
            right = self._right._unseen(query_len, key_len, device)
            return right if left is None else left if right is None else left | right
        intervals = self._intervals(query_len, key_len, device)
        if intervals is None:
            return super()._unseen(query_len, key_len, device)
        return intervals.within(key_len).unseen(key_len)


class Either(_Pair):
    """A position may be attended to where at least one mask allows it."""

    def __str__(self) -> str:
        return f"({self._left} | {self._right})"

    @property
    def kind(self) -> str:
        return f"{_kind_within(self._left)}|{_kind_within(self._right)}"

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        return left | right

    def _unseen(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads key"] | None:
        left = self._left._unseen(query_len, key_len, device)
        right = None if left is None else self._right._unseen(query_len, key_len, device)
        return None if left is None or right is None else left & right


class Opposite(Mask):
    """A position may be attended to where the other mask forbids it."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def __str__(self) -> str:
        return f"~{self._mask}"

    @property
    def kind(self) -> str:
        return f"~{_kind_within(self._mask)}"

    @property
    def _rank(self) -> int:
        return self._mask._rank

    def _lead_sizes(self) -> tuple[int, int]:
        return self._mask._lead_sizes()

    @property
    def _alike(self) -> bool:
        return self._mask._alike

    @property
    def _is_fixed(self) -> bool:
        return self._mask._is_fixed

    def _own_lens(self) -> tuple[int | None, int | None]:
        return self._mask._own_lens()

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        self._mask._check(batch, heads, query_len, key_len)

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        return ~self._mask._grid(query_len, key_len, device)


def _kind_within(mask: Mask) -> str:
    return f"({mask.kind})" if isinstance(mask, _Pair) else mask.kind
