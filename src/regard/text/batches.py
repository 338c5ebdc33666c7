"""Batches: examples of like length as padded tensors."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from regard.text.batch_plan import plan_batches
from regard.text.ragged import IntArray, Ragged
from regard.text.vocabulary import Vocabulary

Example = tuple[Sequence[int], Sequence[int]]  # source ids, target ids; no begin, no end


class Batch(NamedTuple):
    """Examples side by side, filled up with the padding id.

    `target_in` is the begin id and the target, what a decoder is fed; `target_out` is the target
    and the end id, what it should answer. `target_lengths` counts the end (or the begin), and
    `indices` says which examples these are.
    """

    source: Int64[Tensor, "batch source_len"]
    source_lengths: Int64[Tensor, " batch"]
    target_in: Int64[Tensor, "batch target_len"]
    target_out: Int64[Tensor, "batch target_len"]
    target_lengths: Int64[Tensor, " batch"]
    indices: Int64[Tensor, " batch"]


def make_batches(
    examples: Sequence[Example],
    *,
    batch_size: int,
    max_tokens: int | None = None,
    seed: int | None = None,
    epoch: int = 0,
) -> list[list[int]]:
    """Plan an epoch: positions of the examples that go together, as `plan_batches` explains.

    >>> make_batches([([4, 5, 6], [7]), ([4], [7]), ([5, 5, 5], [8]), ([5], [7])], batch_size=2)
    [[1, 3], [0, 2]]
    """
    loader = BatchLoader(examples, batch_size=batch_size, max_tokens=max_tokens, seed=seed)
    return [indices.tolist() for indices in loader.plan(epoch)]


def collate(examples: Sequence[Example], indices: Sequence[int] | None = None) -> Batch:
    """Make one batch of the examples at these positions, or of all. Targets may be empty.

    >>> batch = collate([([5, 6], [7]), ([8], [])])
    >>> batch.source.tolist(), batch.target_in.tolist(), batch.target_out.tolist()
    ([[5, 6], [8, 0]], [[2, 7], [2, 0]], [[7, 3], [3, 0]])
    """
    chosen = range(len(examples)) if indices is None else indices
    loader = BatchLoader([examples[index] for index in chosen], batch_size=max(1, len(chosen)))
    batch = loader.batch(np.arange(len(chosen)))
    return batch._replace(indices=torch.tensor(chosen, dtype=torch.int64))


class BatchLoader:
    """Yields the batches of each epoch; how examples come together says `plan_batches`.

    Args:
        examples: Pairs of source ids and target ids, without begin and end.
        batch_size: Most examples in a batch.
        max_tokens: Most examples times the longest sequence, source or target with its end.
        seed: Shuffle each epoch from this seed; None keeps the order of length, to evaluate.

    >>> loader = BatchLoader([([4, 5], [6]), ([4], [6, 7]), ([5], [6])], batch_size=2)
    >>> [batch.indices.tolist() for batch in loader.epoch()]
    [[2, 1], [0]]
    """

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        batch_size: int,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._sources = Ragged.of([source for source, _ in examples])
        self._targets = Ragged.of([target for _, target in examples])
        _check_sources(self._sources)
        self._batch_size, self._max_tokens, self._seed = batch_size, max_tokens, seed
        self._num_batches = len(self.plan(epoch=0))

    def __len__(self) -> int:
        """Number of batches, the same in every epoch: shuffling moves only equal lengths."""
        return self._num_batches

    def epoch(self, number: int = 0) -> Iterator[Batch]:
        """Yield every example once, the same way for the same seed and number."""
        return map(self.batch, self.plan(number))

    def plan(self, epoch: int = 0) -> list[IntArray]:
        """Give the positions of each batch of an epoch."""
        return plan_batches(
            self._sources.lengths,
            self._targets.lengths + 1,
            batch_size=self._batch_size,
            max_tokens=self._max_tokens,
            seed=self._seed,
            epoch=epoch,
        )

    def batch(self, indices: IntArray) -> Batch:
        """Give the examples at these positions as tensors."""
        source = self._sources.padded(indices, padding=Vocabulary.PADDING)
        target = self._targets.padded(indices, padding=Vocabulary.PADDING)
        target_lengths = self._targets.lengths[indices]
        target_in = np.insert(target, 0, Vocabulary.BEGIN, axis=1)
        target_out = np.insert(target, target.shape[1], Vocabulary.PADDING, axis=1)
        target_out[np.arange(len(indices)), target_lengths] = Vocabulary.END
        arrays = (
            source,
            self._sources.lengths[indices],
            target_in,
            target_out,
            target_lengths + 1,
            indices,
        )
        return Batch(*map(torch.from_numpy, arrays))


def _check_sources(sources: Ragged) -> None:
    empty = np.flatnonzero(sources.lengths == 0)
    if len(empty):
        raise ValueError(
            f"batches: the source of example {empty[0]} is empty. A source has at least one "
            "token. Leave this example out."
        )
