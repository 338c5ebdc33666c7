"""Weights of the additive score, row by row, in numba loops.

    tanh(a + b) / 2 = 1/2 − 1 / (1 + e^2a e^2b)

so with e^2a and e^2b computed once a position, each (query, key, channel) costs a product, a sum
and half a division: x/m + y/n = (x n + y m) / (m n). Nothing of their number is ever stored. The
1/2 is taken off within each fraction: sums of small numbers lose less to rounding.

Keys lie in blocks of ``width`` of them, channel by channel. A block stays in the first cache while
a group of queries passes over it, and a vector register holds the sums of as many keys.
"""

from typing import Any

import numpy as np

from regard.kernels.additive_cpu.exponential import clipped, exponential, inlined, jit, tangent

CLIP = 80.0
"""Of a key's 2b. Beside |2a| <= LIMIT, what is cut off is a tanh of ±1 to rounding."""
LIMIT = 43.0
"""Of a query's |2a|. Beyond it e^2a e^2b may be inf * 0; then each tanh comes from its sum."""
CAP = 2.0**60
"""Of e^2a e^2b: its reciprocal is 0 to rounding, and the product of two is finite."""
LEAST = -87.0
"""Of a score below its row's largest: what weighs less than e^-87 weighs 0."""
NORM = 32.0
"""Of v. An exponential's rounding, 1e-7, is that of a score too, times v's norm: beyond, scores are
computed more exactly, and more slowly."""
SMALL = 60.0
"""A score whose exponential no sum overflows, nor loses in another's rounding to 0."""
GROUP = 16
"""Queries that pass over a block of keys together."""
STRIDE = 4
"""Channels at a time: their number is filled up with channels whose v is 0."""


def width_for(key_len: int, query_len: int) -> int:
    """Keys in a block. More run faster, but the last block is filled up.

    One query has its channels side by side, so that nothing is filled up, and each key is a block.
    """
    if query_len == 1:
        return 1
    return 16 if key_len <= 16 else 32 if key_len <= 48 else 64


@jit
def spread(key: Any, blocks: Any, start: int, stop: int) -> None:
    """e^2b of the examples ``start..stop`` of (batch * heads, key, dim), into blocks of keys.

    ``blocks`` is ``(batch * heads, block, dim filled up, width)``; what is filled up is 0.
    """
    real = blocks.dtype.type
    two, clip = real(2), real(CLIP)
    key_len, dim = key.shape[1:]
    width = blocks.shape[3]
    row = np.empty(dim, blocks.dtype)
    for n in range(start, stop):
        blocks[n, :, dim:] = real(0)
        blocks[n, -1] = real(0)
        for k in range(key_len):
            for c in range(dim):
                row[c] = exponential(clipped(two * key[n, k, c], clip))
            block = blocks[n, k // width]
            for c in range(dim):
                block[c, k % width] = row[c]


@jit
def exponents(query: Any, into: Any) -> bool:
    """e^2a of one query, and whether it may be used: whether its |2a| are within LIMIT."""
    real = into.dtype.type
    two, limit = real(2), real(LIMIT)
    fitting = np.int32(0)
    for c in range(query.shape[0]):
        twice = two * query[c]
        fitting += np.int32(1) if abs(twice) <= limit else np.int32(0)
        into[c] = exponential(clipped(twice, limit))
    return fitting == query.shape[0]


@inlined
def _of_block(query: Any, keys: Any, v: Any, total: Any, lanes: int) -> None:
    """Σ_c v_c (1 / (1 + e^2a e^2b) − 1/2) of one query with the first keys of a block."""
    one, zero, cap = total.dtype.type(1), total.dtype.type(0), total.dtype.type(CAP)
    half = total.dtype.type(0.5)
    for k in range(lanes):
        total[k] = zero
    for c in range(0, query.size, 4):
        e0, e1, e2, e3 = query[c], query[c + 1], query[c + 2], query[c + 3]
        v0, v1, v2, v3 = v[c], v[c + 1], v[c + 2], v[c + 3]
        half01, half23 = half * (v0 + v1), half * (v2 + v3)
        keys0, keys1, keys2, keys3 = keys[c], keys[c + 1], keys[c + 2], keys[c + 3]
        for k in range(lanes):
            x0, x1 = e0 * keys0[k], e1 * keys1[k]
            x2, x3 = e2 * keys2[k], e3 * keys3[k]
            x0 = one + (cap if x0 > cap else x0)
            x1 = one + (cap if x1 > cap else x1)
            x2 = one + (cap if x2 > cap else x2)
            x3 = one + (cap if x3 > cap else x3)
            x01, x23 = x0 * x1, x2 * x3
            total[k] += (v0 * x1 + v1 * x0 - half01 * x01) / x01 + (
                v2 * x3 + v3 * x2 - half23 * x23
            ) / x23


@jit
def _sums(query: Any, blocks: Any, v: Any, sums: Any, low: int, high: int) -> None:
    """The same of a group of queries with the blocks of low..high.

    With a constant number of keys, the sums stay in registers: the last block's are rounded up.
    """
    width = blocks.shape[2]
    total = np.empty(64, sums.dtype)
    for block in range(low // width, (high + width - 1) // width):
        keys, first = blocks[block], block * width
        needed = min(width, high - first)
        for q in range(sums.shape[0]):
            if needed <= 16:
                _of_block(query[q], keys, v, total, 16)
            elif needed <= 32:
                _of_block(query[q], keys, v, total, 32)
            elif needed <= 48:
                _of_block(query[q], keys, v, total, 48)
            else:
                _of_block(query[q], keys, v, total, 64)
            for k in range(needed):
                sums[q, first + k] = total[k]


@jit
def _sums_1(query: Any, keys: Any, v: Any, sums: Any, low: int, high: int) -> None:
    """The same of one query, with keys (key, dim filled up)."""
    one, half, cap = sums.dtype.type(1), sums.dtype.type(0.5), sums.dtype.type(CAP)
    for k in range(low, high):
        row = keys[k]
        total = sums.dtype.type(0)
        for c in range(query.size):
            x = query[c] * row[c]
            total += v[c] * (one / (one + (cap if x > cap else x)) - half)
        sums[k] = total


@jit
def _direct_sums(query: Any, key: Any, v: Any, sums: Any, low: int, high: int) -> None:
    """The same of one query, however large, by the tanh of each a + b."""
    real = sums.dtype.type
    half = real(0.5)
    for k in range(low, high):
        row = key[k]
        total = real(0)
        for c in range(query.shape[0]):
            total += v[c] * tangent(query[c] + row[c])
        sums[k] = -half * total


@jit
def _softmax(row: Any, low: int, high: int, bound: Any) -> float:
    """From sums, inf where hidden, to weights, in place; gives the logsumexp of the scores.

    These are ``-2 sums``, and of at most ``bound``, plus or minus: where it is small, no largest
    score need be found.
    """
    real = row.dtype.type
    zero, two, least, lowest = real(0), real(2), real(LEAST), real(-np.inf)
    row[:low] = zero
    row[high:] = zero
    seen = row[low:high]  # loops over a part of an array do not vectorize
    top = zero
    if not bound <= real(SMALL):
        top = lowest
        for k in range(seen.size):
            score = -two * seen[k]
            top = score if score > top else top
        top = zero if top == lowest else top
    total = zero
    for k in range(seen.size):
        below = -two * seen[k] - top
        weight = exponential(least if below < least else below)
        weight = zero if below < least else weight
        seen[k] = weight
        total += weight
    if total == zero:
        return lowest
    share = real(1) / total
    for k in range(seen.size):
        seen[k] *= share
    return top + np.log(total)


@jit
def _hide_others(sums: Any, query_id: int, key_ids: Any) -> None:
    """inf where another segment's key is."""
    hidden = sums.dtype.type(np.inf)
    for k in range(sums.size):
        sums[k] = sums[k] if key_ids[k] == query_id else hidden


@jit
def _hide(sums: Any, may_attend: Any) -> None:
    """inf where it is not so."""
    hidden = sums.dtype.type(np.inf)
    for k in range(sums.size):
        sums[k] = sums[k] if may_attend[k] else hidden


@jit
def weigh(
    query: Any,
    key: Any,
    blocks: Any,
    v: Any,
    seen: Any,
    examples: Any,
    rows: Any,
    weights: Any,
    lse: Any,
) -> None:
    """Weights (examples, rows, key) and lse of some rows of some examples.

    Args:
        query, key: ``(batch * heads, position, dim)``, projected.
        blocks: what ``spread`` made of the key.
        v: ``(heads or 1, dim filled up)``.
        seen: first, last, query_ids, key_ids, grid: see ``Visible``.
        examples, rows: from which to which, of batch * heads and of the queries.
    """
    first, last, query_ids, key_ids, grid = seen
    heads, dim, key_len = first.shape[1], query.shape[2], key.shape[1]
    real = weights.dtype.type
    powers = np.zeros((GROUP, v.shape[1]), weights.dtype)
    fits = np.empty(GROUP, np.bool_)
    for n in range(examples[0], examples[1]):
        batch, head = n // heads, n % heads
        scoring, of_example = v[head % v.shape[0]], weights[n - examples[0]]
        bound, square = real(0), real(0)
        for c in range(scoring.size):
            bound += abs(scoring[c])
            square += scoring[c] * scoring[c]
        is_exact = not square <= real(NORM) * real(NORM)
        for start in range(rows[0], rows[1], GROUP):
            stop = min(start + GROUP, rows[1])
            low, high = key_len, 0
            for q in range(start, stop):
                if first[batch, head, q] < last[batch, head, q]:
                    low = min(low, first[batch, head, q])
                    high = max(high, last[batch, head, q])
                fits[q - start] = exponents(query[n, q], powers[q - start, :dim]) and not is_exact
            sums = of_example[start - rows[0] : stop - rows[0]]
            group = powers[: stop - start]
            if low < high:
                if blocks.shape[3] == 1:
                    keys = blocks[n].reshape(key_len, blocks.shape[2])
                    _sums_1(group[0], keys, scoring, sums[0], low, high)
                else:
                    _sums(group, blocks[n], scoring, sums, low, high)
            for q in range(start, stop):
                row = of_example[q - rows[0]]
                low, high = first[batch, head, q], last[batch, head, q]
                if not fits[q - start]:
                    _direct_sums(query[n, q], key[n], scoring, row, low, high)
                if query_ids.size:
                    _hide_others(row[low:high], query_ids[batch, q], key_ids[batch, low:high])
                if grid.size:
                    cells = grid[batch % grid.shape[0], head % grid.shape[1], q % grid.shape[2]]
                    _hide(row[low:high], cells[low:high])
                lse[n, q] = _softmax(row, low, high, bound)
