"""Which examples go together: batches of like length under a budget.

Examples are sorted by length and cut. Where there are many examples of one source length, a batch
holds that length alone, so that a recurrent encoder meets no padding and needs no packing; where
there are few, neighbouring lengths share a batch, so that batches stay full.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regard.text.ragged import IntArray


def plan_batches(
    source_lengths: IntArray,
    target_lengths: IntArray,
    *,
    batch_size: int,
    max_tokens: int | None = None,
    seed: int | None = None,
    epoch: int = 0,
) -> list[IntArray]:
    """Give the batches of an epoch as arrays of positions; every example is in exactly one.

    Args:
        source_lengths: Length of each source.
        target_lengths: Length of each target, its end token included.
        batch_size: Most examples in a batch.
        max_tokens: Most examples times the longest sequence, source or target, of a batch. An
            example longer than this is a batch of its own.
        seed: Shuffle anew each epoch, the same way for the same seed and epoch: which of equally
            long examples go together, and the order of batches. None keeps the order of length.
        epoch: Number of the epoch.

    >>> lengths = np.array([3, 1, 3, 1])
    >>> [batch.tolist() for batch in plan_batches(lengths, lengths, batch_size=2)]
    [[1, 3], [0, 2]]
    """
    _check(len(source_lengths), batch_size, max_tokens, seed, epoch)
    generator = None if seed is None else np.random.default_rng((seed, epoch))
    order = np.arange(len(source_lengths))
    if generator is not None:
        generator.shuffle(order)
    # The sort is stable, so equal lengths keep the shuffled order.
    order = order[np.lexsort((target_lengths[order], source_lengths[order]))]
    longest = np.maximum(source_lengths, target_lengths)[order]
    budget = _Budget(longest, batch_size, max_tokens)
    batches = [
        order[start:stop]
        for segment in _segments(source_lengths[order], budget)
        for start, stop in _cut(*segment, budget)
    ]
    if generator is not None:
        batches = [batches[place] for place in generator.permutation(len(batches))]
    return batches


@dataclass(frozen=True)
class _Budget:
    """What fits into one batch of the sorted examples, whose longer sides are `longest`."""

    longest: IntArray
    batch_size: int
    max_tokens: int | None

    def num_fitting(self, start: int, stop: int) -> int:
        """How many examples from start on fit, at least one."""
        longest = self.longest[start : min(stop, start + self.batch_size)]
        if self.max_tokens is None:
            return len(longest)
        num_tokens = np.maximum.accumulate(longest) * np.arange(1, len(longest) + 1)
        return max(1, int(np.searchsorted(num_tokens, self.max_tokens, side="right")))

    def num_fitting_anywhere(self, start: int, stop: int) -> int:
        """How many fit, whichever of start to stop they are."""
        if self.max_tokens is None:
            return self.batch_size
        return min(self.batch_size, self.max_tokens // int(self.longest[start:stop].max()))

    def is_half_full(self, start: int, stop: int) -> bool:
        """Whether start to stop fill half a batch or more."""
        return 2 * (stop - start) >= self.num_fitting_anywhere(start, stop)


def _segments(source_lengths: IntArray, budget: _Budget) -> list[tuple[int, int]]:
    """Cut where the source length changes, unless what came before is less than half a batch."""
    segments: list[tuple[int, int]] = []
    start = 0
    for stop in (np.flatnonzero(np.diff(source_lengths)) + 1).tolist():
        if budget.is_half_full(start, stop):
            segments.append((start, stop))
            start = stop
    end = len(source_lengths)
    if segments and not budget.is_half_full(start, end):
        start, _ = segments.pop()  # the longest are few: they join those before
    return [*segments, (start, end)]


def _cut(start: int, stop: int, budget: _Budget) -> Iterator[tuple[int, int]]:
    """Cut a segment into full batches, the last two of like size instead of full and tiny."""
    while start < stop:
        middle = start + budget.num_fitting(start, stop)
        if middle < stop and middle + budget.num_fitting(middle, stop) == stop:
            even = min((stop - start) // 2, budget.num_fitting_anywhere(start, stop))
            middle = min(middle, stop - even)
        yield start, middle
        start = middle


def _check(
    num_examples: int, batch_size: int, max_tokens: int | None, seed: int | None, epoch: int
) -> None:
    if num_examples == 0:
        raise ValueError("batches: no examples. A batch holds at least one. Give some data.")
    for name, number, least in (
        ("batch_size", batch_size, 1),
        ("max_tokens", max_tokens, 1),
        ("seed", seed, 0),
        ("epoch", epoch, 0),
    ):
        if number is not None and number < least:
            raise ValueError(
                f"batches: {name}={number}. It is a whole number from {least}. "
                f"Give {name} >= {least}."
            )
