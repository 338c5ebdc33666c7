"""How the scores are cut into tiles, and what of a mask concerns each."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from regard.core.masks import Mask
from regard.core.masks.segments import Segments

_ELEMENTS = 2**19  # of (batch, heads, query, key, width): 2 MiB in float32
_PAIRS = 1024  # fewer (query, key) a tile would cost more in calls than they save in memory


class TileSize(NamedTuple):
    """How many examples, queries and keys at a time, with all heads."""

    batch: int
    query_len: int
    key_len: int


class Tile(NamedTuple):
    """Which examples, queries and keys."""

    batch: slice
    query: slice
    key: slice

    def scores(self, tensor: Tensor) -> Tensor:
        """Its part of a tensor (batch, [heads,] query, key), whose size-1 axes serve all."""
        return _part(_part(_part(tensor, 0, self.batch), -2, self.query), -1, self.key)

    def queries(self, tensor: Tensor) -> Tensor:
        """Its part of a tensor (batch, [heads,] query, dim)."""
        return tensor[self.batch, ..., self.query, :]

    def keys(self, tensor: Tensor) -> Tensor:
        """Its part of a tensor (batch, [heads,] key, dim)."""
        return tensor[self.batch, ..., self.key, :]


def tile_size(scores_shape: tuple[int, ...], width: int) -> TileSize:
    """Tiles with a (batch, heads, query, key, width) tensor of a few MiB."""
    batch, *heads, query_len, key_len = scores_shape
    num_heads = math.prod(heads)
    pairs = max(_PAIRS, _ELEMENTS // max(1, num_heads * width))
    keys = min(key_len, math.isqrt(pairs))
    queries = min(query_len, pairs // max(1, keys))
    keys = min(key_len, pairs // max(1, queries))
    examples = min(batch, pairs // max(1, queries * keys))
    return TileSize(max(1, examples), max(1, queries), max(1, keys))


class TiledMask:
    """A mask, tile by tile: runs of keys and segments from their numbers, all else from a grid.

    Args:
        scores_shape: ``(batch, [heads,] query, key)``.
    """

    def __init__(
        self, may_attend: Mask | None, scores_shape: tuple[int, ...], device: torch.device
    ) -> None:
        self._shape = scores_shape
        self._intervals = None
        self._grids: list[Tensor] = []
        self._ids: list[tuple[Tensor, Tensor]] = []
        for part in () if may_attend is None else may_attend.parts:
            intervals = part.intervals(scores_shape, device)
            if intervals is not None:
                both = intervals if self._intervals is None else self._intervals & intervals
                self._intervals = both.within(scores_shape[-1])
            elif isinstance(part, Segments):
                self._ids.append(part.ids_for(scores_shape, device))
            else:
                self._grids.append(part.grid_for(scores_shape, device))
        # read once: where each query starts and stops, in any head
        self._runs = None
        if self._intervals is not None:
            starts, stops = torch.broadcast_tensors(*self._intervals)  # type: ignore[no-untyped-call]
            self._runs = starts.cpu(), stops.cpu()

    def tiles(self, size: TileSize) -> Iterator[Tile]:
        """All that hold something to see, as far as runs of keys tell."""
        batch, query_len = self._shape[0], self._shape[-2]
        for examples in _slices(0, batch, size.batch):
            for queries in _slices(0, query_len, size.query_len):
                for keys in _slices(*self._run(examples, queries), size.key_len):
                    yield Tile(examples, queries, keys)

    def hide(self, scores: Tensor, tile: Tile) -> Tensor:
        """The scores of a tile, with -inf where the query may not attend."""
        for hidden in self._hidden(tile, scores.device):
            scores = scores.masked_fill(hidden, -torch.inf)
        return scores

    def _hidden(self, tile: Tile, device: torch.device) -> Iterator[Tensor]:
        if self._intervals is not None:
            starts, stops = (tile.scores(t.unsqueeze(-1)) for t in self._intervals)
            keys = torch.arange(tile.key.start, tile.key.stop, device=device)
            yield (keys < starts) | (keys >= stops)
        for query_ids, key_ids in self._ids:
            yield tile.scores(query_ids) != tile.scores(key_ids)
        for grid in self._grids:
            yield ~tile.scores(grid)

    def _run(self, examples: slice, queries: slice) -> tuple[int, int]:
        """From which key to which the queries of these examples see, at most."""
        if self._runs is None:
            return 0, self._shape[-1]
        starts, stops = (_part(_part(t, 0, examples), -1, queries) for t in self._runs)
        seeing = starts < stops
        if not seeing.any():
            return 0, 0
        return int(starts[seeing].min()), int(stops[seeing].max())


def _slices(start: int, stop: int, step: int) -> Iterator[slice]:
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def _part(tensor: Tensor, axis: int, part: slice) -> Tensor:
    if tensor.shape[axis] == 1:  # serves all
        return tensor
    return tensor.narrow(axis, part.start, part.stop - part.start)
