"""The checks: named claims about any attention code, one family a file."""

from regard.doctor.checks import (
    averaging,
    caching,
    causality,
    empty_rows,
    learning,
    masking,
    precision,
    repeating,
    sizes,
    structure,
    symmetry,
    timing,
    training,
    weighing,
)
from regard.doctor.symptoms import Check as _Check

__all__ = ["CHECKS"]

CHECKS: tuple[_Check, ...] = (
    *sizes.CHECKS,
    *weighing.CHECKS,
    *symmetry.CHECKS,
    *masking.CHECKS,
    *empty_rows.CHECKS,
    *causality.CHECKS,
    *averaging.CHECKS,
    *precision.CHECKS,
    *repeating.CHECKS,
    *caching.CHECKS,
    *training.CHECKS,
    *learning.CHECKS,
    *timing.CHECKS,
    *structure.CHECKS,
)
