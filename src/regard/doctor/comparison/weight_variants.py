"""Known faults of the softmax, and of the average that follows it."""

from collections.abc import Callable

import numpy as np

from regard.doctor.comparison.reference_model import Parts, sigmoid, softmax, split_heads
from regard.doctor.comparison.variants import Variant, normalizer_variant
from regard.doctor.tracing.dependence import Array

KEYS_RULE = "softmax runs over the key axis T_enc, so that each query's weights sum to 1"
CONTEXT_RULE = "context = Σ_j weights[i, j] · value[j], summed over the keys"


def _axis(axis: int | tuple[int, ...], words: str, fault: str = "softmax-axis") -> Variant:
    return Variant(
        fault,
        f"softmax runs over {words}",
        KEYS_RULE,
        "normalize",
        lambda s: s.with_(normalize=lambda x: softmax(x, axis)),
        "softmax-axis",
    )


NORMALIZERS = (
    _axis(-2, "the queries"),
    _axis(0, "the batch"),
    _axis(1, "the heads"),
    _axis((-2, -1), "queries and keys together"),
    _axis((0, -1), "batch and keys together"),
    _axis((0, 1, 2, 3), "everything together"),
    _axis((0, -2), "batch and queries together"),
    normalizer_variant(
        "softmax-axis",
        "softmax runs over an axis of size 1, so every weight is 1",
        KEYS_RULE,
        np.ones_like,
        "softmax-axis",
    ),
    normalizer_variant(
        "softmax-axis",
        "the scores are used as weights, without softmax",
        KEYS_RULE,
        lambda x: x,
        "add-softmax",
    ),
    normalizer_variant(
        "softmax-axis",
        "softmax is applied twice",
        KEYS_RULE,
        lambda x: softmax(softmax(x)),
        "one-softmax",
    ),
    normalizer_variant(
        "softmax-axis",
        "each score goes through a sigmoid, so rows do not sum to 1",
        KEYS_RULE,
        sigmoid,
        "to-softmax",
    ),
    normalizer_variant(
        "softmax-axis", "exp is not divided by its sum", KEYS_RULE, np.exp, "add-softmax"
    ),
    normalizer_variant(
        "softmax-axis",
        "the logarithm of the weights is used as weights",
        KEYS_RULE,
        lambda x: np.log(softmax(x)),
        "to-softmax",
    ),
    normalizer_variant(
        "softmax-axis",
        "scores are divided by their sum, without exp",
        KEYS_RULE,
        lambda x: x / x.sum(-1, keepdims=True),
        "to-softmax",
    ),
)


def _weigh(
    does: str,
    form: Callable[[Parts, Array, Array], Array],
    fix: str = "average",
    fault: str = "context-source",
    rule: str = CONTEXT_RULE,
) -> Variant:
    return Variant(fault, does, rule, "weigh", lambda s: s.with_(weigh=form), fix)


def _heads(parts: Parts, x: Array) -> Array:
    return split_heads(x, parts.num_heads)


def _like_value(parts: Parts, weights: Array, x: Array) -> Array:
    return weights @ _heads(parts, x)


WEIGHERS = (
    _weigh("the keys are averaged, not the values", lambda p, w, v: _like_value(p, w, p.key)),
    _weigh("the unprojected keys are averaged", lambda p, w, v: _like_value(p, w, p.raw_key)),
    _weigh("the unprojected values are averaged", lambda p, w, v: _like_value(p, w, p.raw_value)),
    _weigh("the queries are averaged", lambda p, w, v: _like_value(p, w, p.query)),
    _weigh("the unprojected queries are averaged", lambda p, w, v: _like_value(p, w, p.raw_query)),
    _weigh(
        "the values are averaged evenly, without the weights",
        lambda p, w, v: np.broadcast_to(v.mean(-2, keepdims=True), (*w.shape[:3], v.shape[-1])),
    ),
    _weigh(
        "the values are summed, without the weights",
        lambda p, w, v: np.broadcast_to(v.sum(-2, keepdims=True), (*w.shape[:3], v.shape[-1])),
    ),
    _weigh(
        "the weighted values are averaged over the keys, which divides by their number",
        lambda p, w, v: w @ v / v.shape[-2],
        "sum",
    ),
    _weigh("the transposed weights average the values", lambda p, w, v: w.swapaxes(-1, -2) @ v),
    _weigh(
        "the weighted values are summed over the features",
        lambda p, w, v: w * v.sum(-1)[..., None, :],
        "sum-axis",
    ),
    _weigh(
        "the weights are added over the queries",
        lambda p, w, v: np.broadcast_to(w.sum(-2, keepdims=True) @ v, (*w.shape[:3], v.shape[-1])),
        fault="broadcast",
    ),
    _weigh(
        "the first query's weights serve every query",
        lambda p, w, v: np.broadcast_to(w[..., :1, :] @ v, (*w.shape[:3], v.shape[-1])),
        fault="broadcast",
    ),
    _weigh("the weights are squared", lambda p, w, v: w**2 @ v),
    _weigh(
        "the largest weight alone picks a value",
        lambda p, w, v: np.take_along_axis(v, w.argmax(-1)[..., None], -2),
    ),
    _weigh(
        "the values are reshaped where a transpose is wanted",
        lambda p, w, v: w @ v.swapaxes(-1, -2).reshape(v.shape),
        fault="reshape-for-transpose",
    ),
)
