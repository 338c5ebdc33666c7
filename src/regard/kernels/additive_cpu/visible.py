"""What each query may see, as the loops read it: no (query, key) grid unless the mask is one."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.core.masks import Mask
from regard.core.masks.intervals import Intervals
from regard.core.masks.segments import Segments


class Visible(NamedTuple):
    """Keys from ``first`` to before ``last`` whose id is the query's, and where the grid says so.

    All are contiguous: numba compiles anew for an array of another kind.
    """

    first: Tensor
    """(batch, heads, query)."""
    last: Tensor
    query_ids: Tensor
    """(batch, query) of segments, or empty."""
    key_ids: Tensor
    """(batch, key)."""
    grid: Tensor
    """(batch, heads, query, key), bool, where the first three may be 1 and serve all; or empty."""

    def dense(self, key_len: int) -> Tensor:
        """The grid that it stands for."""
        keys = torch.arange(key_len)
        grid = (keys >= self.first[..., None]) & (keys < self.last[..., None])
        if self.query_ids.numel():
            grid = grid & (self.query_ids[:, None, :, None] == self.key_ids[:, None, None, :])
        return grid & self.grid if self.grid.numel() else grid


def visible(may_attend: Mask | None, scores_shape: Sequence[int]) -> Visible:
    """Read a mask for scores of (batch, heads, query, key)."""
    batch, heads, query_len, key_len = scores_shape
    device = torch.device("cpu")
    keys = Intervals(
        torch.zeros(1, 1, 1, dtype=torch.int64), torch.full((1, 1, 1), key_len, dtype=torch.int64)
    )
    query_ids = key_ids = torch.zeros(batch, 0, dtype=torch.int64)
    grid = None
    for part in () if may_attend is None or 0 in scores_shape else may_attend.parts:
        found = part.intervals(scores_shape, device)
        if found is not None:
            keys = keys & found
        elif isinstance(part, Segments) and not query_ids.numel():
            query_ids, key_ids = (
                ids.flatten(1).expand(batch, -1).contiguous()
                for ids in part.ids_for(scores_shape, device)
            )
            keys = keys & _extent(query_ids, key_ids)
        else:
            cells = part.grid_for(scores_shape, device)
            grid = cells if grid is None else grid & cells
    first, last = keys.within(key_len)
    return Visible(
        first.expand(batch, heads, query_len).contiguous(),
        last.expand(batch, heads, query_len).contiguous(),
        query_ids,
        key_ids,
        torch.zeros(0, 0, 0, 0, dtype=torch.bool) if grid is None else grid.contiguous(),
    )


def _extent(query_ids: Tensor, key_ids: Tensor) -> Intervals:
    """From the first to the last key of each query's segment."""
    ordered, places = key_ids.sort(dim=-1, stable=True)
    start, stop = (torch.searchsorted(ordered, query_ids, right=right) for right in (False, True))
    last_key = key_ids.shape[-1] - 1
    first = places.gather(-1, start.clamp(max=last_key))
    last = places.gather(-1, (stop - 1).clamp(min=0)) + 1
    return Intervals(first[:, None], torch.where(start < stop, last, first)[:, None])
