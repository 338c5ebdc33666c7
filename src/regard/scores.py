"""Score functions: how well does each key answer the query? They live in `regard.core.scores`."""

from regard.core.scores import (
    NAMES,
    Additive,
    Bilinear,
    Concat,
    Dot,
    PreparedKey,
    ScaledDot,
    Score,
    Uniform,
    make_score,
)

__all__ = [
    "NAMES",
    "Additive",
    "Bilinear",
    "Concat",
    "Dot",
    "PreparedKey",
    "ScaledDot",
    "Score",
    "Uniform",
    "make_score",
]
