"""What is kept of a site in constant memory, however long the run."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class Summary(NamedTuple):
    """Sums over every row of weights that a site computed, a number for each head."""

    rows: Float[Tensor, " heads"]
    """Rows with something to attend to."""
    empty: Float[Tensor, " heads"]
    """Rows with nothing."""
    entropies: Float[Tensor, " heads"]
    """Sum of -Σ α ln α, in nats."""
    peaks: Float[Tensor, " heads"]
    """Sum of the largest weights."""
    visible: Float[Tensor, " heads"]
    """Sum of the keys that could be attended to."""

    @classmethod
    def of(
        cls,
        weights: Float[Tensor, "batch heads query key"],
        visible: Bool[Tensor, "batch heads query key"],
    ) -> Summary:
        """Of one call."""
        weights = weights.double()
        counts = visible.sum(-1).double()
        empty = counts == 0
        return cls(
            (~empty).sum((0, 2)).double(),
            empty.sum((0, 2)).double(),
            torch.special.entr(weights).sum((0, 2, 3)),
            weights.amax(-1).sum((0, 2)) if weights.shape[-1] else counts.sum((0, 2)),
            counts.sum((0, 2)),
        )

    def joined(self, other: Summary) -> Summary:
        """Of both."""
        return Summary(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def entropy(self) -> Float[Tensor, " heads"]:
        """Mean over the rows, in nats."""
        return self.entropies / self.rows

    @property
    def peak(self) -> Float[Tensor, " heads"]:
        """Mean of the largest weight of a row."""
        return self.peaks / self.rows

    def __str__(self) -> str:
        return (
            f"{int(self.rows[0])} rows, {int(self.empty[0])} empty; entropy "
            f"{_each(self.entropy)} nats, largest weight {_each(self.peak)} on average, of "
            f"{_each(self.visible / self.rows)} keys"
        )


def _each(numbers: Tensor) -> str:
    return ", ".join(f"{number:.3g}" for number in numbers.tolist())
