"""Known faults of dot products: each another `score` in place of s·h."""

import numpy as np

from regard.doctor.comparison.reference_model import Parts, relu
from regard.doctor.comparison.variants import score_variant
from regard.doctor.tracing.dependence import Array


def _reshaped_keys(parts: Parts, query: Array, key: Array) -> Array:
    batch, heads, length, dim = key.shape
    return query @ key.reshape(batch, heads, dim, length)


DOT_RULE = "score(s, h) = s · h, summed over the shared width"
DOT_SCORES = (
    score_variant(
        "reshape-for-transpose",
        "the keys are reshaped to (d, T), which mixes positions and channels",
        "keys^T is a transpose of the last two axes: (T, d) to (d, T)",
        _reshaped_keys,
        "transpose",
    ),
    score_variant(
        "query-ignored",
        "the keys are compared with themselves",
        DOT_RULE,
        lambda p, q, k: k @ k.swapaxes(-1, -2),
        "use-query",
    ),
    score_variant(
        "key-ignored",
        "the query is compared with itself",
        DOT_RULE,
        lambda p, q, k: q @ q.swapaxes(-1, -2),
        "use-key",
    ),
    score_variant(
        "query-ignored",
        "each key is compared with itself",
        DOT_RULE,
        lambda p, q, k: np.broadcast_to((k * k).sum(-1)[..., None, :], (*q.shape[:3], k.shape[2])),
        "use-query",
    ),
    score_variant(
        "query-ignored",
        "the keys are summed without the query",
        DOT_RULE,
        lambda p, q, k: np.broadcast_to(k.sum(-1)[..., None, :], (*q.shape[:3], k.shape[2])),
        "use-query",
    ),
    score_variant(
        "score-formula",
        "the distance is taken in place of the product",
        DOT_RULE,
        lambda p, q, k: ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1),
        "product",
    ),
    score_variant(
        "score-formula",
        "a tanh squashes the products",
        DOT_RULE,
        lambda p, q, k: np.tanh(q @ k.swapaxes(-1, -2)),
        "no-outer-tanh",
    ),
    score_variant(
        "score-formula",
        "a relu cuts off the negative products",
        DOT_RULE,
        lambda p, q, k: relu(q @ k.swapaxes(-1, -2)),
        "no-relu",
    ),
)
