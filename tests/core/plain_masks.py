"""Masks in words and numbers, and what they mean, cell by cell, in plain Python."""

import math
from itertools import product
from typing import Any, TypeAlias

import torch
from hypothesis import strategies as st
from torch import Tensor

from regard import Mask

Sizes: TypeAlias = tuple[int, int, int, int]
"""batch, heads, query_len, key_len"""
Description: TypeAlias = tuple[Any, ...]
"""From which both the mask and the plain loop are made."""


INTERVALS = ("lengths", "per query", "causal", "window")
GRIDS = ("segments", "dense", "attention_mask", "key_padding_mask", "attn_mask", "attn_mask 3-D")
COMBINED = ("not", "and", "or")


@st.composite
def descriptions(draw: st.DrawFn, sizes: Sizes, depth: int = 2) -> Description:
    """A mask of any constructor, or of two masks combined, up to ``depth`` deep."""
    name = draw(st.sampled_from(INTERVALS + GRIDS + (COMBINED if depth else ())))
    if name in COMBINED:
        num_masks = 1 if name == "not" else 2
        return name, *(draw(descriptions(sizes, depth - 1)) for _ in range(num_masks))
    return draw((interval_descriptions if name in INTERVALS else _grids)(sizes, name))


@st.composite
def interval_descriptions(draw: st.DrawFn, sizes: Sizes, name: str | None = None) -> Description:
    """Lengths, causal masks and windows."""
    batch, _, query_len, key_len = sizes
    name = name or draw(st.sampled_from(INTERVALS))

    def length() -> int:
        return draw(st.integers(0, key_len))

    if name == "lengths":
        return name, [length() for _ in range(batch)]
    if name == "per query":
        return name, [[length() for _ in range(query_len)] for _ in range(batch)]
    aligns = ["start", "end"] + ([None] if query_len == key_len else [])
    align = draw(st.sampled_from(aligns))
    if name == "causal":
        return name, align
    reach = st.sampled_from([None, 0, 1, 2])
    return name, draw(reach), draw(reach), align


@st.composite
def _grids(draw: st.DrawFn, sizes: Sizes, name: str) -> Description:
    batch, heads, query_len, key_len = sizes

    def ids(length: int) -> Any:
        batched = draw(st.booleans())
        rows = [[draw(st.integers(-1, 1)) for _ in range(length)] for _ in range(batch)]
        return rows if batched else rows[0]

    if name == "segments":
        of_itself = query_len == key_len and draw(st.booleans())
        return name, ids(query_len), None if of_itself else ids(key_len)
    if name == "dense":
        shape = (*(draw(st.sampled_from([1, size])) for size in sizes[:3]), key_len)
    else:
        shape = {
            "attn_mask": (query_len, key_len),
            "attn_mask 3-D": (batch * heads, query_len, key_len),
        }.get(name, (batch, key_len))
    bits = draw(st.integers(0, 2 ** math.prod(shape) - 1))
    return name.removesuffix(" 3-D"), shape, bits, draw(st.booleans())


def made(description: Description, sizes: Sizes) -> Mask:
    match description:
        case ("lengths" | "per query", lengths):
            return Mask.lengths(lengths)
        case ("causal", align):
            return Mask.causal(align)
        case ("window", before, after, align):
            return Mask.window(before, after, align=align)
        case ("segments", query_ids, key_ids):
            return Mask.segments(query_ids, key_ids)
        case ("dense", shape, cells, _):
            return Mask.dense(_bools(shape, cells))
        case ("attention_mask", shape, cells, as_float):
            bools = _bools(shape, cells)
            return Mask.from_attention_mask(bools.float() if as_float else bools.long())
        case ("key_padding_mask", shape, cells, as_float):
            return Mask.from_torch(key_padding_mask=_foreign_bools(shape, cells, as_float))
        case ("attn_mask", shape, cells, as_float):
            return Mask.from_torch(_foreign_bools(shape, cells, as_float), num_heads=sizes[1])
        case ("not", one):
            return ~made(one, sizes)
        case ("and", one, other):
            return made(one, sizes) & made(other, sizes)
        case ("or", one, other):
            return made(one, sizes) | made(other, sizes)
    raise NotImplementedError(description)


def _bools(shape: tuple[int, ...], cells: int) -> Tensor:
    bits = [cells >> i & 1 for i in range(math.prod(shape))]
    return torch.tensor(bits).view(shape) == 1


def _foreign_bools(shape: tuple[int, ...], cells: int, as_float: bool) -> Tensor:
    hidden = _bools(shape, cells)
    return torch.zeros(shape).masked_fill(hidden, -math.inf) if as_float else hidden


def allows(description: Description, sizes: Sizes, at: tuple[int, int, int, int]) -> bool:
    """What the description means at one (batch, head, query, key)."""
    b, h, q, k = at
    match description:
        case ("lengths", lengths):
            return k < lengths[b]
        case ("per query", lengths):
            return k < lengths[b][q]
        case ("causal", align):
            return k <= _place(q, sizes, align)
        case ("window", before, after, align):
            ahead = k - _place(q, sizes, align)
            return (before is None or -ahead <= before) and (after is None or ahead <= after)
        case ("segments", query_ids, key_ids):
            query_id, key_id = (
                (ids[b] if isinstance(ids[0], list) else ids)[position]
                for ids, position in ((query_ids, q), (key_ids or query_ids, k))
            )
            return query_id == key_id
        case ("dense", shape, cells, _):
            return _bit(cells, shape, at)
        case ("attention_mask", shape, cells, _):
            return _bit(cells, shape, (b, k))
        case ("key_padding_mask", shape, cells, _):
            return not _bit(cells, shape, (b, k))
        case ("attn_mask", (_, _) as shape, cells, _):
            return not _bit(cells, shape, (q, k))
        case ("attn_mask", shape, cells, _):
            return not _bit(cells, shape, (b * sizes[1] + h, q, k))
        case ("not", one):
            return not allows(one, sizes, at)
        case ("and", one, other):
            return allows(one, sizes, at) and allows(other, sizes, at)
        case ("or", one, other):
            return allows(one, sizes, at) or allows(other, sizes, at)
    raise NotImplementedError(description)


def _place(query: int, sizes: Sizes, align: str | None) -> int:
    """The key at which the query sits; from the end, both are counted from the last."""
    return sizes[3] - (sizes[2] - query) if align == "end" else query


def _bit(cells: int, shape: tuple[int, ...], at: tuple[int, ...]) -> bool:
    cell = 0
    for index, size in zip(at, shape, strict=True):
        cell = cell * size + (index if size > 1 else 0)
    return bool(cells >> cell & 1)


def plain_grid(description: Description, sizes: Sizes) -> Tensor:
    batch, heads, query_len, key_len = map(range, sizes)
    cells = [allows(description, sizes, at) for at in product(batch, heads, query_len, key_len)]
    return torch.tensor(cells).view(sizes)


SIZES = st.tuples(*(st.integers(1, 3) for _ in range(4)))
