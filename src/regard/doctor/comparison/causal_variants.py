"""Known faults of the causal mask: off by one, upside down, aligned to the wrong end, absent."""

from collections.abc import Callable

import numpy as np

from regard.doctor.comparison.reference_model import Bools, softmax_without_care
from regard.doctor.comparison.variants import Variant
from regard.doctor.tracing.dependence import Array


def causal(query_len: int, key_len: int, shift: int) -> Bools:
    """Query i sees keys up to i + shift."""
    return np.asarray(np.arange(key_len) <= np.arange(query_len)[:, None] + shift)


CAUSAL_RULE = "query i sees keys 0 to i, itself included and nothing later"


def _causal(
    does: str, pattern: Callable[[int, int], Bools], fix: str
) -> tuple[Variant, Variant, Variant]:
    """With a finite fill, and with -inf, where rows without keys give NaN or 0."""

    def filled(scores: Array, may: Bools) -> Array:
        return np.where(pattern(*scores.shape[-2:]), scores, -1e30)

    def infinite(scores: Array, may: Bools) -> Array:
        return np.where(pattern(*scores.shape[-2:]), scores, -np.inf)

    return (
        Variant("causal-alignment", does, CAUSAL_RULE, "hide", lambda s: s.with_(hide=filled), fix),
        Variant(
            "causal-alignment",
            f"{does}, and rows that see nothing give NaN",
            CAUSAL_RULE,
            "hide",
            lambda s: s.with_(hide=infinite, normalize=softmax_without_care),
            fix,
        ),
        Variant(
            "causal-alignment", does, CAUSAL_RULE, "hide", lambda s: s.with_(hide=infinite), fix
        ),
    )


CAUSAL = (
    *_causal("each query also sees the next position", lambda q, k: causal(q, k, 1), "diagonal"),
    *_causal("each query misses its own position", lambda q, k: causal(q, k, -1), "diagonal"),
    *_causal("each query sees two positions ahead", lambda q, k: causal(q, k, 2), "diagonal"),
    *_causal(
        "each query sees the future and itself, not the past",
        lambda q, k: ~causal(q, k, -1),
        "triangle",
    ),
    *_causal("each query sees only the future", lambda q, k: ~causal(q, k, 0), "triangle"),
    *_causal(
        "the triangle is aligned to the first keys, not to the last",
        lambda q, k: causal(q, k, 0),
        "align",
    ),
    *_causal(
        "the triangle is aligned to the last keys, not to the first",
        lambda q, k: causal(q, k, k - q),
        "align",
    ),
    Variant(
        "causal-alignment",
        "the future is visible: the causal mask has no effect",
        CAUSAL_RULE,
        "hide",
        lambda s: s.with_(hide=lambda scores, may: scores),
        "use-mask",
    ),
)
