"""How far a rate may be off for having seen these sources and not others."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 1000
SEED = 1

Counts = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number measured on a sample of sources, and its interval."""

    value: float
    low: float
    high: float


def bootstrap(counts: Counts, score: Callable[[Counts], float]) -> Estimate:
    """A score of summed counts, with its percentile bootstrap interval over the rows.

    ``RESAMPLES`` times as many rows are drawn as there are, with replacement, and the score is
    taken of their sum; the interval holds the middle 95 % of these scores. The draws are those of
    one seed: the same for every score of as many rows. (Efron & Tibshirani 1993, An Introduction
    to the Bootstrap, section 13.3.) The interval is about the choice of sources alone, not of the
    model's seed, and has no width where all rows are alike: of 20 sources all right it says
    nothing of the 21st.

    Args:
        counts: A row for each source, of shape (sources, counts).
        score: Of a sum of rows.

    >>> counts = np.array([[1.0, 2.0], [0.0, 2.0], [0.0, 2.0], [1.0, 2.0]])
    >>> bootstrap(counts, lambda total: total[0] / total[1])
    Estimate(value=0.25, low=0.0, high=0.5)
    """
    draw = np.random.default_rng(SEED)
    num_rows = len(counts)
    scores = [
        score(np.bincount(draw.integers(num_rows, size=num_rows), minlength=num_rows) @ counts)
        for _ in range(RESAMPLES)
    ]
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(scores, [tail, 1 - tail])
    return Estimate(float(score(counts.sum(axis=0))), float(low), float(high))
