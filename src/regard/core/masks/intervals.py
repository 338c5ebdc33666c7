"""From which key to which: masks in which each query sees one unbroken run of keys."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class Intervals(NamedTuple):
    """Query i may attend to the keys ``start[i] <= key < stop[i]``, to none where they are equal.

    Lengths, causal masks, windows and their intersections are of this kind. What a kernel would
    read from a (query, key) grid it can read from these two numbers a query. Both have the leading
    axes of the scores and a query axis, of size 1 where a number serves all.
    """

    start: Int[Tensor, "*lead query"]
    stop: Int[Tensor, "*lead query"]

    def __and__(self, other: Intervals) -> Intervals:
        """The keys in both."""
        return Intervals(
            torch.maximum(self.start, other.start), torch.minimum(self.stop, other.stop)
        )

    def within(self, key_len: int) -> Intervals:
        """The same keys, with ``0 <= start <= stop <= key_len``."""
        start = self.start.clamp(0, key_len)
        return Intervals(start, torch.maximum(start, self.stop.clamp(max=key_len)))

    def unseen(self, key_len: int) -> Bool[Tensor, "*lead key"]:
        """True for keys in no query's interval; the intervals must come from ``within``.

        A running count of the intervals that have opened and not yet closed: O(query + key).
        """
        start = self.start.expand_as(self.stop)
        none = start.new_zeros(*start.shape[:-1], key_len + 1)
        changes = none.scatter_add(-1, start, torch.ones_like(start))
        changes = changes.scatter_add(-1, self.stop, -torch.ones_like(start))
        return changes.cumsum(-1)[..., :-1] == 0
