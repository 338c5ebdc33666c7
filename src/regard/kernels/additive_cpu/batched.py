"""The operators under ``torch.vmap``: its axis is folded into the heads, which have their own v."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.kernels.additive_cpu.given import Given

Axes = Sequence[int | None]


def blocks(make: Callable[..., Tensor], axis: int, key: Tensor, query_len: int) -> Tensor:
    """The blocks of each key, the axis in front."""
    key = key.movedim(axis, 1)
    made = make(key.flatten(1, 2), query_len)
    apart: Tensor = made.view(*key.shape[:3], *made.shape[1:])
    return apart.movedim(1, 0).flatten(1, 2)


def each(
    function: Callable[..., tuple[Tensor, ...]], num: int, axes: Axes, arguments: Sequence[Any]
) -> tuple[Tensor, ...]:
    """What the operator, or that of its backward, gives of each, the axis in front.

    One after the other where an example counts by its number, in dropout, or serves all its heads,
    in segments.
    """
    front = [_in_front(given, axis, num) for given, axis in zip(arguments, axes, strict=True)]
    given, others = Given(*front[: len(Given._fields)]), front[len(Given._fields) :]
    if given.dropout_p > 0.0 or given.query_ids.numel():
        found = [
            function(*(part[n] if isinstance(part, Tensor) else part for part in front))
            for n in range(num)
        ]
        return tuple(torch.stack(parts) for parts in zip(*found, strict=True))
    _, batch, heads = given.query.shape[:3]
    apart = given.blocks.reshape(num, batch, heads, *given.blocks.shape[2:])
    folded = Given(
        query=_folded(given.query),
        key=_folded(given.key),
        v=given.v.expand(-1, heads, -1).flatten(0, 1),
        value=_folded(given.value),
        blocks=_folded(apart).flatten(0, 1),
        first=_folded(given.first),
        last=_folded(given.last),
        query_ids=given.query_ids[0],
        key_ids=given.key_ids[0],
        grid=_folded(given.grid.expand(-1, -1, heads, -1, -1)).contiguous()
        if given.grid.numel()
        else given.grid[0],
        seed=given.seed[0],
        dropout_p=0.0,
    )
    outputs = function(*folded, *(_folded(o) if isinstance(o, Tensor) else o for o in others))
    return tuple(_unfolded(output, num, heads) for output in outputs)


def _in_front(given: Any, axis: int | None, num: int) -> Any:
    if not isinstance(given, Tensor):
        return given
    return given.expand(num, *given.shape) if axis is None else given.movedim(axis, 0)


def _folded(tensor: Tensor) -> Tensor:
    """(num, batch, heads, ...) as (batch, num * heads, ...); one that is empty as it is of each."""
    return tensor.movedim(0, 1).flatten(1, 2) if tensor.dim() > 2 else tensor[0]


def _unfolded(tensor: Tensor, num: int, heads: int) -> Tensor:
    if tensor.dim() == 1:  # empty
        return tensor.expand(num, -1)
    if tensor.dim() == 2:  # of v
        return tensor.view(num, heads, -1)
    return tensor.view(len(tensor), num, heads, *tensor.shape[2:]).movedim(1, 0)
