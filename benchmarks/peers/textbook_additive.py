"""The additive score as the textbooks write it, and the tensors that everyone gets.

It needs torch alone, so that it runs beside any peer in that peer's own environment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.testing import assert_close

Size = tuple[int, int, int, int]  # batch, queries, keys, dim


class Tensors(NamedTuple):
    """One question; value and attention have the width of query and key."""

    query: Tensor  # (batch, query, dim)
    key: Tensor  # (batch, key, dim)
    value: Tensor
    query_weight: Tensor  # (dim, dim)
    key_weight: Tensor
    v: Tensor  # (dim,)
    upstream: Tensor  # gradient of the context
    lengths: Tensor  # (batch,), drawn uniformly from 1 to the number of keys

    @classmethod
    def draw(cls, size: Size) -> Tensors:
        batch, query_len, key_len, dim = size
        generator = torch.Generator().manual_seed(0)

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator)

        return cls(
            normal(batch, query_len, dim),
            normal(batch, key_len, dim),
            normal(batch, key_len, dim),
            normal(dim, dim) / math.sqrt(dim),
            normal(dim, dim) / math.sqrt(dim),
            normal(dim) / math.sqrt(dim),
            normal(batch, query_len, dim),
            torch.randint(1, key_len + 1, (batch,), generator=generator),
        )

    @classmethod
    def load(cls, path: Path) -> Tensors:
        with np.load(path) as arrays:
            return cls(*(torch.from_numpy(arrays[name]) for name in cls._fields))

    def save(self, path: Path) -> None:
        arrays = {name: tensor.numpy() for name, tensor in zip(self._fields, self, strict=True)}
        np.savez(path, **arrays)

    def may_attend(self) -> Tensor:
        """The lengths as a grid, (batch, 1, key)."""
        return (torch.arange(self.key.shape[1]) < self.lengths[:, None])[:, None]

    def leaves(self, step: bool) -> list[Tensor]:
        """Query, key, value, both weights and v, to differentiate in a step."""
        return [tensor.detach().clone().requires_grad_(step) for tensor in self[:6]]

    def projected(self, step: bool) -> list[Tensor]:
        """Projected query, projected key, value and v, to differentiate in a step."""
        query, key = linear(self.query, self.query_weight), linear(self.key, self.key_weight)
        return [t.detach().clone().requires_grad_(step) for t in (query, key, self.value, self.v)]


def textbook(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, may_attend: Tensor | None = None
) -> Tensor:
    """``softmax(vᵀ tanh(q + k))`` times the values, of projected queries and keys."""
    scores = torch.tanh(query[:, :, None] + key[:, None]) @ v
    if may_attend is not None:
        scores = scores.masked_fill(~may_attend, -math.inf)
    return torch.bmm(torch.softmax(scores, dim=-1), value)


def textbook_with_projections(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_weight: Tensor,
    key_weight: Tensor,
    v: Tensor,
    may_attend: Tensor | None = None,
) -> Tensor:
    """The same, of queries and keys as they come."""
    return textbook(linear(query, query_weight), linear(key, key_weight), value, v, may_attend)


def finish(
    context: Tensor, leaves: Sequence[Tensor], upstream: Tensor, step: bool
) -> tuple[Tensor, ...]:
    """The context and, in a step, the gradients."""
    return (context, *torch.autograd.grad(context, leaves, upstream)) if step else (context,)


def check(found: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    """Equal within float32: errors of a tensor are measured by its largest entry."""
    for own, right in zip(found, expected, strict=True):
        largest = right.abs().max()
        assert_close(own / largest, right / largest, rtol=0.0, atol=1e-4)


def largest_bytes(size: Size) -> int:
    """What one float32 tensor of every (batch, query, key, channel) takes."""
    return 4 * math.prod(size)
