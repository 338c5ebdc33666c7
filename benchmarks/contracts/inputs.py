"""Small tensors to ask with, of numbers that every dtype holds exactly, and masks for them."""

import random
from typing import Any

from benchmarks.peers.protocol import Numbers

DIM = 4


def numbers(*shape: int, seed: int) -> Numbers:
    """Multiples of 1/16 between -2 and 2."""
    generator = random.Random(seed)

    def fill(sizes: tuple[int, ...]) -> Any:
        if not sizes:
            return generator.randint(-32, 32) / 16
        return [fill(sizes[1:]) for _ in range(sizes[0])]

    return fill(shape)


def first(*lengths: int, key_len: int) -> list[list[bool]]:
    """May see the first keys."""
    return [[key < length for key in range(key_len)] for length in lengths]


def last(*lengths: int, key_len: int) -> list[list[bool]]:
    """May see the last keys: padding on the left."""
    return [[key >= key_len - length for key in range(key_len)] for length in lengths]


def length_first(tensor: Numbers) -> Numbers:
    """(batch, position, dim) as (position, batch, dim)."""
    return [list(position) for position in zip(*tensor, strict=True)]
