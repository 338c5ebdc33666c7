"""Sequences of different lengths in one flat array."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


class Ragged(NamedTuple):
    """Token ids of all sequences one after another; sequence i has `lengths[i]` from `starts[i]`.

    >>> Ragged.of([[7, 8], [9]]).padded(np.array([1, 0]), padding=0)
    array([[9, 0],
           [7, 8]])
    """

    ids: IntArray
    starts: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> "Ragged":
        """Lay sequences into one array."""
        lengths = _array(map(len, sequences))
        return cls(_array(chain.from_iterable(sequences)), np.cumsum(lengths) - lengths, lengths)

    def padded(self, indices: IntArray, *, padding: int) -> IntArray:
        """Give the chosen sequences as the rows of one array, filled up to the longest."""
        lengths = self.lengths[indices]
        positions = np.arange(lengths.max(initial=0))
        is_token = positions < lengths[:, None]
        rows = np.full(is_token.shape, padding, dtype=np.int64)
        rows[is_token] = self.ids[(self.starts[indices][:, None] + positions)[is_token]]
        return rows


def _array(numbers: Iterable[int]) -> IntArray:
    return np.fromiter(numbers, dtype=np.int64)
