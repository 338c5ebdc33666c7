"""Gradients of the additive score, by computing it again, in numba loops.

With r = 1 / (1 + e^2a e^2b): tanh = 1 − 2r, and 1 − tanh² = 4 r (1 − r). For slopes g, the gradient
of each score,

    da = 4 v Σ_k g r (1 − r)      db = 4 v Σ_q g r (1 − r)      dv = Σ_qk g (1 − 2r)
"""

from typing import Any

import numpy as np

from regard.kernels.additive_cpu.exponential import clipped, exponential, inlined, jit
from regard.kernels.additive_cpu.forward import CAP, CLIP, exponents

TOGETHER = 4
"""Queries that pass over a block of keys together."""


@jit
def slopes(weights: Any, grads: Any, lse_grads: Any) -> None:
    """Gradients of the scores in place of those of the weights, which may be those of dropout.

    Args:
        weights, grads: ``(examples, rows, key)``.
        lse_grads: ``(examples, rows)``.
    """
    for n in range(weights.shape[0]):
        for q in range(weights.shape[1]):
            weight, grad = weights[n, q], grads[n, q]
            mean = weights.dtype.type(0)
            for k in range(weight.size):
                mean += weight[k] * grad[k]
            mean -= lse_grads[n, q]
            for k in range(weight.size):
                grad[k] = weight[k] * (grad[k] - mean)


@inlined
def _pull_block(
    powers: Any, keys: Any, s0: Any, s1: Any, s2: Any, s3: Any, to_query: Any, to_keys: Any,
    to_v: Any, lanes: int,
) -> None:  # fmt: skip
    """Add up g r (1 − r) over the first keys and over four queries, and g r over both."""
    one, zero, cap = to_v.dtype.type(1), to_v.dtype.type(0), to_v.dtype.type(CAP)
    for c in range(keys.shape[0]):
        row, to_row = keys[c], to_keys[c]
        e0, e1, e2, e3 = powers[0, c], powers[1, c], powers[2, c], powers[3, c]
        sum0, sum1, sum2, sum3, both = zero, zero, zero, zero, zero
        for k in range(lanes):
            power = row[k]
            x0, x1, x2, x3 = e0 * power, e1 * power, e2 * power, e3 * power
            x0 = one + (cap if x0 > cap else x0)
            x1 = one + (cap if x1 > cap else x1)
            x2 = one + (cap if x2 > cap else x2)
            x3 = one + (cap if x3 > cap else x3)
            half, other = one / (x0 * x1), one / (x2 * x3)
            r0, r1, r2, r3 = half * x1, half * x0, other * x3, other * x2
            g0, g1, g2, g3 = s0[k] * r0, s1[k] * r1, s2[k] * r2, s3[k] * r3
            both += (g0 + g1) + (g2 + g3)
            g0 -= g0 * r0
            g1 -= g1 * r1
            g2 -= g2 * r2
            g3 -= g3 * r3
            to_row[k] += (g0 + g1) + (g2 + g3)
            sum0 += g0
            sum1 += g1
            sum2 += g2
            sum3 += g3
        to_query[0, c] += sum0
        to_query[1, c] += sum1
        to_query[2, c] += sum2
        to_query[3, c] += sum3
        to_v[c] += both


@jit
def _pull(
    powers: Any, blocks: Any, slope: Any, to_query: Any, to_blocks: Any, to_v: Any,
    low: int, high: int,
) -> None:  # fmt: skip
    """The same with the blocks of low..high; the last one's keys are rounded up, as forward."""
    width = blocks.shape[2]
    for block in range(low // width, (high + width - 1) // width):
        start, stop = block * width, (block + 1) * width
        needed = min(width, high - start)
        keys, to_keys = blocks[block], to_blocks[block]
        s0, s1, s2, s3 = (
            slope[0, start:stop],
            slope[1, start:stop],
            slope[2, start:stop],
            slope[3, start:stop],
        )
        if needed <= 16:
            _pull_block(powers, keys, s0, s1, s2, s3, to_query, to_keys, to_v, 16)
        elif needed <= 32:
            _pull_block(powers, keys, s0, s1, s2, s3, to_query, to_keys, to_v, 32)
        elif needed <= 48:
            _pull_block(powers, keys, s0, s1, s2, s3, to_query, to_keys, to_v, 48)
        else:
            _pull_block(powers, keys, s0, s1, s2, s3, to_query, to_keys, to_v, 64)


@jit
def _pull_alone(
    powers: Any, blocks: Any, slope: Any, to_query: Any, to_blocks: Any, to_v: Any,
    low: int, high: int,
) -> None:  # fmt: skip
    """The same of one query, two channels at a time, where there are no others to go with it."""
    one, zero, cap = slope.dtype.type(1), slope.dtype.type(0), slope.dtype.type(CAP)
    width = blocks.shape[2]
    for block in range(low // width, (high + width - 1) // width):
        here = slope[block * width : (block + 1) * width]
        for c in range(0, powers.size, 2):
            e0, e1 = powers[c], powers[c + 1]
            keys0, keys1 = blocks[block, c], blocks[block, c + 1]
            to_keys0, to_keys1 = to_blocks[block, c], to_blocks[block, c + 1]
            sum0, sum1, share0, share1 = zero, zero, zero, zero
            for k in range(width):
                x0, x1 = e0 * keys0[k], e1 * keys1[k]
                x0 = one + (cap if x0 > cap else x0)
                x1 = one + (cap if x1 > cap else x1)
                both = one / (x0 * x1)
                r0, r1 = both * x1, both * x0
                g0, g1 = here[k] * r0, here[k] * r1
                share0 += g0
                share1 += g1
                g0 -= g0 * r0
                g1 -= g1 * r1
                to_keys0[k] += g0
                to_keys1[k] += g1
                sum0 += g0
                sum1 += g1
            to_query[c] += sum0
            to_query[c + 1] += sum1
            to_v[c] += share0
            to_v[c + 1] += share1


@jit
def pull_direct(
    query: Any, key: Any, v: Any, slope: Any, to_query: Any, to_key: Any, to_v: Any
) -> None:
    """The same of one query, however large, from its a + b; to_key is complete, the others not."""
    real = slope.dtype.type
    one, two, four, clip = real(1), real(2), real(4), real(CLIP)
    for k in range(key.shape[0]):
        g = slope[k]
        if g != real(0):
            row, to_row = key[k], to_key[k]
            for c in range(query.shape[0]):
                r = one / (one + exponential(clipped(two * (query[c] + row[c]), clip)))
                to_v[c] += g * r
                part = g * r * (one - r)
                to_query[c] += part
                to_row[c] += four * v[c] * part


@jit
def pull(
    query: Any,
    key: Any,
    blocks: Any,
    v: Any,
    seen: Any,
    examples: Any,
    rows: Any,
    slopes: Any,
    to_query: Any,
    to_key: Any,
    to_v: Any,
) -> None:
    """Add the gradients of some rows of some examples; arguments as of ``weigh``, and

    slopes: ``(examples, rows, key)``, 0 where hidden.
    to_query: of all examples and queries. to_key, to_v: of these examples, ``(.., key, dim)`` and
    ``(.., dim filled up)``.
    """
    first, last = seen[0], seen[1]
    heads, dim, key_len = first.shape[1], query.shape[2], key.shape[1]
    real = slopes.dtype.type
    two, four = real(2), real(4)
    num_blocks, filled, width = blocks.shape[1:]
    powers = np.zeros((TOGETHER, filled), blocks.dtype)
    slope = np.zeros((TOGETHER, num_blocks * width), blocks.dtype)
    sums = np.empty((TOGETHER, filled), blocks.dtype)
    for n in range(examples[0], examples[1]):
        batch, head, place = n // heads, n % heads, n - examples[0]
        scoring = v[head % v.shape[0]]
        to_blocks = np.zeros(blocks.shape[1:], blocks.dtype)
        shares = np.zeros(filled, blocks.dtype)  # Σ g r
        whole = real(0)  # Σ g
        for start in range(rows[0], rows[1], TOGETHER):
            low, high = key_len, 0
            powers[:] = real(1)
            slope[:] = real(0)
            sums[:] = real(0)
            for q in range(start, min(start + TOGETHER, rows[1])):
                given = slopes[place, q - rows[0]]
                for k in range(key_len):
                    whole += given[k]
                if exponents(query[n, q], powers[q - start, :dim]):
                    if first[batch, head, q] < last[batch, head, q]:
                        low = min(low, first[batch, head, q])
                        high = max(high, last[batch, head, q])
                    slope[q - start, :key_len] = given
                else:
                    pull_direct(
                        query[n, q], key[n], scoring, given, sums[q - start], to_key[place], shares
                    )
            if low < high:
                if rows[1] - start == 1:
                    _pull_alone(
                        powers[0], blocks[n], slope[0], sums[0], to_blocks, shares, low, high
                    )
                else:
                    _pull(powers, blocks[n], slope, sums, to_blocks, shares, low, high)
            for q in range(start, min(start + TOGETHER, rows[1])):
                for c in range(dim):
                    to_query[n, q, c] = four * scoring[c] * sums[q - start, c]
        for k in range(key_len):
            block = to_blocks[k // width]
            for c in range(dim):
                to_key[place, k, c] += four * scoring[c] * block[c, k % width]
        for c in range(filled):
            to_v[place, c] += whole - two * shares[c]
