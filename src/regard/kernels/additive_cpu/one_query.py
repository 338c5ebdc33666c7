"""A decoder's step in numba loops: one query an example, channels side by side in each key.

Nothing is read of keys and values that the query may not see.
"""

from typing import Any

import numpy as np

from regard.kernels.additive_cpu.backward import pull_direct
from regard.kernels.additive_cpu.exponential import inlined, jit
from regard.kernels.additive_cpu.forward import CAP, exponents


@jit
def average(weights: Any, value: Any, example: int, context: Any) -> None:
    """Weighted averages of the values of some examples, from that one on.

    Args:
        weights: ``(examples, 1, key)``.
        value, context: of all, ``(batch * heads, position, dim)``.
    """
    zero = weights.dtype.type(0)
    for n in range(weights.shape[0]):
        total = context[example + n, 0]
        total[:] = zero
        for k in range(weights.shape[2]):
            weight = weights[n, 0, k]
            if weight != zero:
                row = value[example + n, k]
                for c in range(row.size):
                    total[c] += weight * row[c]


@jit
def pull_values(
    weights: Any, value: Any, pulls: Any, example: int, grads: Any, to_value: Any
) -> None:
    """Gradients of such averages by the weights, where these are not 0, and by the values.

    Args:
        weights, grads: ``(examples, 1, key)``.
        value, pulls, to_value: of all, ``(batch * heads, position, dim)``; pulls are the gradients
            of the averages.
    """
    zero = weights.dtype.type(0)
    for n in range(weights.shape[0]):
        pulled = pulls[example + n, 0]
        for k in range(weights.shape[2]):
            weight, row, to_row = weights[n, 0, k], value[example + n, k], to_value[example + n, k]
            total = zero
            if weight == zero:
                to_row[:] = zero
            else:
                for c in range(row.size):
                    total += row[c] * pulled[c]
                    to_row[c] = weight * pulled[c]
            grads[n, 0, k] = total


@inlined
def _pull_key(
    power: Any, key: Any, v: Any, slope: Any, sums: Any, shares: Any, to_key: Any
) -> None:
    """Gradients by one key; to the sums are added g r (1 − r), to the shares g r."""
    one, four, cap = sums.dtype.type(1), sums.dtype.type(4), sums.dtype.type(CAP)
    for c in range(sums.size):
        x = power[c] * key[c]
        r = one / (one + (cap if x > cap else x))
        share = slope * r
        shares[c] += share
        to_key[c] = share - share * r
    for c in range(sums.size):  # a loop over fewer arrays is vectorized
        sums[c] += to_key[c]
        to_key[c] *= four * v[c]


@jit
def pull(
    query: Any,
    key: Any,
    blocks: Any,
    v: Any,
    seen: Any,
    examples: Any,
    slopes: Any,
    to_query: Any,
    to_key: Any,
    to_v: Any,
) -> None:
    """Gradients of some examples.

    Args:
        query .. examples: as of ``weigh``.
        slopes: gradients of the scores, ``(examples, 1, key)``, 0 where hidden.
        to_query, to_key: of all, ``(batch * heads, position, dim)``. to_v: of all, ``(.., dim)``.
    """
    heads, dim, key_len = seen[0].shape[1], query.shape[2], key.shape[1]
    zero, two, four = slopes.dtype.type(0), slopes.dtype.type(2), slopes.dtype.type(4)
    power, sums, shares = (
        np.empty(dim, slopes.dtype),
        np.empty(dim, slopes.dtype),
        np.empty(dim, slopes.dtype),
    )
    for n in range(examples[0], examples[1]):
        head = n % heads % v.shape[0]
        scoring, slope, to_keys = v[head, :dim], slopes[n - examples[0], 0], to_key[n]
        keys = blocks[n].reshape(key_len, blocks.shape[2])
        fits = exponents(query[n, 0], power)
        sums[:] = zero
        shares[:] = zero
        whole = zero
        for k in range(key_len):
            whole += slope[k]
            if slope[k] == zero or not fits:
                to_keys[k] = zero
            else:
                _pull_key(power, keys[k], scoring, slope[k], sums, shares, to_keys[k])
        if not fits:
            pull_direct(query[n, 0], key[n], scoring, slope, sums, to_keys, shares)
        for c in range(dim):
            to_query[n, 0, c] = four * scoring[c] * sums[c]
            to_v[n, c] = whole - two * shares[c]
