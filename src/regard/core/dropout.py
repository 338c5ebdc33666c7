"""Dropout on weights as a pure function of a seed and a position.

Every kernel, forward or backward, whole or tile by tile, computes the same keep-mask, because a
cell's fate depends on (seed, batch, head, query, key) alone.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

_LOW_32 = 0xFFFFFFFF


def draw_seed() -> Int[Tensor, ""]:
    """One seed from torch's generator, so that ``torch.manual_seed`` decides every dropout."""
    return torch.randint(_LOW_32, ())


def keep_mask(
    seed: Int[Tensor, ""], batch: int, heads: int, query_len: int, key_len: int, dropout_p: float
) -> Bool[Tensor, "batch heads query key"]:
    """True with probability ``1 - dropout_p``, independently in each cell.

    The hash is Wellons' 32-bit integer finalizer ``lowbias32`` (github.com/skeeto/hash-prospector),
    folded over the axes one after the other.
    """
    state = _mix(seed)
    for axis, size in enumerate((batch, heads, query_len, key_len)):
        index = torch.arange(size, device=seed.device)
        state = _mix(state ^ index.view(-1, *(1,) * (3 - axis)))
    return state >= int(dropout_p * 2**32)


def _mix(x: Tensor) -> Tensor:
    # int64 arithmetic may wrap around, but its low 32 bits are those of the uint32 product
    x = x & _LOW_32
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _LOW_32
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _LOW_32
    return x ^ (x >> 16)
