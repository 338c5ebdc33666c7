"""The keep-mask of ``regard.core.dropout`` in a numba loop."""

from typing import Any

import numpy as np

from regard.kernels.additive_cpu.exponential import inlined, jit


@inlined
def _mix(x: Any) -> Any:
    x = np.uint32(np.uint32(x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D))
    x = np.uint32(np.uint32(x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x ^ (x >> np.uint32(16)))


@jit
def drop(
    weights: Any, seed: int, dropout_p: float, heads: int, example: int, row: int, dropped: Any
) -> None:
    """Weights (examples, rows, key), from that example and row on, with dropout.

    ``dropped`` may be ``weights``.
    """
    threshold = np.uint32(dropout_p * 2.0**32)
    scale = weights.dtype.type(1.0 / (1.0 - dropout_p))
    zero = weights.dtype.type(0)
    start = _mix(np.uint32(seed))
    for n in range(weights.shape[0]):
        batch, head = np.uint32((example + n) // heads), np.uint32((example + n) % heads)
        of_head = _mix(_mix(start ^ batch) ^ head)
        for q in range(weights.shape[1]):
            of_query = _mix(of_head ^ np.uint32(row + q))
            given, kept = weights[n, q], dropped[n, q]
            for k in range(given.size):
                keeps = _mix(of_query ^ np.uint32(k)) >= threshold
                kept[k] = given[k] * scale if keeps else zero
