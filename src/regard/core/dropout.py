"""Dropout on weights as a pure function of a seed and a position.

Every kernel, forward or backward, whole or tile by tile, computes the same keep-mask, because a
cell's fate depends on (seed, batch, head, query, key) alone.
"""

from collections.abc import Sequence
from contextvars import ContextVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_LOW_32 = 0xFFFFFFFF


GENERATOR: ContextVar[torch.Generator | None] = ContextVar("dropout_generator", default=None)
"""What dropout draws from in this thread; None for torch's own, whose seed is the process's."""


def draw_seed() -> Int[Tensor, ""]:
    """One seed from torch's generator, so that ``torch.manual_seed`` decides every dropout.

    Or from this thread's own. (Compiled code looks at no variable.)
    """
    generator = None if torch.compiler.is_compiling() else GENERATOR.get()
    if generator is None:
        return torch.randint(_LOW_32, ())
    return torch.randint(_LOW_32, (), generator=generator, device=generator.device)


def keep_mask(
    seed: Int[Tensor, ""],
    batch: int,
    heads: int,
    query_len: int,
    key_len: int,
    dropout_p: float,
    *,
    first: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> Bool[Tensor, "batch heads query key"]:
    """True with probability ``1 - dropout_p``, independently in each cell.

    ``first`` is where the cells begin on each axis: a part is computed without the whole.

    The hash is Wellons' 32-bit integer finalizer ``lowbias32`` (github.com/skeeto/hash-prospector),
    folded over the axes one after the other.
    """
    state = _mix(seed)
    sizes = batch, heads, query_len, key_len
    *leading, keys = (
        (torch.arange(size, device=seed.device) + start).view(-1, *(1,) * (3 - axis))
        for axis, (start, size) in enumerate(zip(first, sizes, strict=True))
    )
    for index in leading:
        state = _mix(state ^ index)
    # The last mixing, of every cell, in the signed half of the width and mostly in place. What it
    # begins with, x ^ (x >> 16), is linear in ^, and so is done before rows and columns meet.
    cells = _fold(state).to(torch.int32) ^ _fold(keys).to(torch.int32)
    cells.mul_(0x7FEB352D)
    cells.bitwise_xor_((cells >> 15).bitwise_and_(0x1FFFF))  # >> repeats the sign, & removes it
    cells.mul_(0x846CA68B - 2**32)
    cells.bitwise_xor_((cells >> 16).bitwise_and_(0xFFFF))
    # with the first bit flipped, signed numbers are in the order of the unsigned
    return cells.bitwise_xor_(-(2**31)) >= int(dropout_p * 2**32) - 2**31


def draw_factors(
    weights_shape: Sequence[int], dropout_p: float, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, "*lead query key"]:
    """What weights are multiplied by, with a new seed: 0 or ``1 / (1 - dropout_p)``."""
    return factors(draw_seed(), weights_shape, dropout_p, dtype).to(device)


def factors(
    seed: Int[Tensor, ""],
    weights_shape: Sequence[int],
    dropout_p: float,
    dtype: torch.dtype,
    *,
    first: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> Float[Tensor, "*lead query key"]:
    """What these weights, from ``first`` on, are multiplied by: 0 or ``1 / (1 - dropout_p)``."""
    batch, heads = (*weights_shape[:-2], 1, 1)[:2]
    query_len, key_len = weights_shape[-2:]
    keep = keep_mask(seed, batch, heads, query_len, key_len, dropout_p, first=first)
    return keep.view(*weights_shape).to(dtype).div_(1.0 - dropout_p)


def _mix(x: Tensor) -> Tensor:
    # int64 arithmetic may wrap around, but its low 32 bits are those of the uint32 product
    x = (_fold(x) * 0x7FEB352D) & _LOW_32
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _LOW_32
    return x ^ (x >> 16)


def _fold(x: Tensor) -> Tensor:
    x = x & _LOW_32
    return x ^ (x >> 16)
