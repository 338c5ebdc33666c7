"""Bootstrap intervals: over examples, and over trainings and examples together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

NUM_DRAWS = 2000
LEVEL = 0.95
FEWEST = 6
"""Examples below which no interval means anything: with 5, all alike, a sign test has p = 0.06."""


@dataclass(frozen=True)
class Interval:
    """From the 2.5th to the 97.5th percentile of the bootstrap."""

    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """A mean with its uncertainty."""

    value: float
    over_examples: Interval
    """Other examples, the same trainings."""
    over_trainings: Interval | None
    """Other examples and other trainings; None where there was one training."""
    num_examples: int
    """Examples that have the number at all."""

    @property
    def interval(self) -> Interval:
        """The wider claim where there is one: over trainings."""
        return self.over_trainings or self.over_examples


class Bootstrap:
    """Resamples examples, whole with all their rows, and trainings.

    ``mean = average over trainings of (Σ over examples of their rows' sum) / (number of rows)``.
    Every estimate of one `Bootstrap` sees the same draws, the percentiles are plain. The trainings
    share their examples, so a draw takes some trainings and some examples and crosses them.
    Intervals over fewer than about five trainings are too narrow.

    Args:
        examples: the example that each row is from.
        seed: of the draws.

    >>> bootstrap = Bootstrap(np.array([0, 0, 1, 2]), seed=1)
    >>> found = bootstrap.estimate(np.array([[1.0, 3.0, 2.0, 2.0]]))
    >>> found.value, found.over_examples
    (2.0, Interval(low=2.0, high=2.0))
    """

    def __init__(self, examples: Int[np.ndarray, " rows"], *, seed: int) -> None:
        _, self._which = np.unique(examples, return_inverse=True)
        self._num = int(self._which.max()) + 1
        self._random = np.random.default_rng(seed)
        drawn = self._random.integers(self._num, size=(NUM_DRAWS, self._num))
        self._times = np.zeros((NUM_DRAWS, self._num))
        np.add.at(self._times, (np.arange(NUM_DRAWS)[:, None], drawn), 1.0)

    def estimate(self, numbers: Float[np.ndarray, "trainings rows"]) -> Estimate:
        """The mean of all that is not NaN, and its intervals."""
        means, drawn_means, num_examples = self._means(numbers)
        over_trainings = None
        if len(means) > 1:
            chosen = self._random.integers(len(means), size=drawn_means.shape)
            over_trainings = _interval(_mean(np.take_along_axis(drawn_means, chosen, axis=1)))
        over_examples = _interval(_mean(drawn_means))
        return Estimate(float(_mean(means)), over_examples, over_trainings, num_examples)

    def difference(
        self, first: Float[np.ndarray, "trainings rows"], second: Float[np.ndarray, "others rows"]
    ) -> Estimate:
        """The mean of one group of trainings less that of another, on the same examples."""
        firsts, drawn_firsts, num_examples = self._means(first)
        seconds, drawn_seconds, _ = self._means(second)
        over_trainings = None
        if len(firsts) > 1 or len(seconds) > 1:
            resampled = []
            for drawn in (drawn_firsts, drawn_seconds):
                chosen = self._random.integers(drawn.shape[1], size=drawn.shape)
                resampled.append(_mean(np.take_along_axis(drawn, chosen, axis=1)))
            over_trainings = _interval(resampled[0] - resampled[1])
        over_examples = _interval(_mean(drawn_firsts) - _mean(drawn_seconds))
        value = float(_mean(firsts) - _mean(seconds))
        return Estimate(value, over_examples, over_trainings, num_examples)

    def _means(
        self, numbers: Float[np.ndarray, "trainings rows"]
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Of each training: its mean, and its mean in every draw."""
        there = ~np.isnan(numbers)
        sums = self._by_example(np.where(there, numbers, 0.0))
        counts = self._by_example(there.astype(np.float64))
        with np.errstate(invalid="ignore", divide="ignore"):  # no number at all: NaN
            means = sums.sum(axis=1) / counts.sum(axis=1)
            drawn = (self._times @ sums.T) / (self._times @ counts.T)
        return means, drawn, int((counts.sum(axis=0) > 0).sum())

    def _by_example(
        self, numbers: Float[np.ndarray, "trainings rows"]
    ) -> Float[np.ndarray, "trainings examples"]:
        return np.stack(
            [np.bincount(self._which, weights=row, minlength=self._num) for row in numbers]
        )


def _mean(of_trainings: np.ndarray) -> np.ndarray:
    """Over the trainings, on the last axis, that have the number."""
    there = ~np.isnan(of_trainings)
    with np.errstate(invalid="ignore"):  # none has it: NaN
        total = np.where(there, of_trainings, 0.0).sum(axis=-1)
        return np.asarray(total / there.sum(axis=-1))


def _interval(drawn: np.ndarray) -> Interval:
    if np.isnan(drawn).all():
        return Interval(float("nan"), float("nan"))
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.nanpercentile(drawn, [tail, 100.0 - tail])
    return Interval(float(low), float(high))
