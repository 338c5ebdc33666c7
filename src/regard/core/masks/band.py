"""What causal masks and windows have in common: how far each query reaches from its own place."""

from abc import abstractmethod

import torch
from jaxtyping import Bool
from torch import Tensor

from regard.core.masks.intervals import Intervals
from regard.core.masks.mask import Align, Mask


class Band(Mask):
    """``place - before <= key index <= place + after``, where ``place = query index + offset``.

    ``None`` is no limit. ``align`` decides the offset.
    """

    def __init__(self, before: int | None, after: int | None, align: Align | None = None) -> None:
        self.before, self.after = before, after
        self.align = align
        if align not in (None, "start", "end"):
            raise ValueError(
                f"Mask.{self.kind}: align={align!r}. It must be 'start' (query 0 sits at key 0) or "
                "'end' (the last query sits at the last key, as with a cache)."
            )

    def offset(self, query_len: int, key_len: int) -> int:
        """Index of the key at which query 0 sits; torch's own ``is_causal`` has 0."""
        return key_len - query_len if self.align == "end" else 0

    @property
    def _rank(self) -> int:
        return 2

    def _lead_sizes(self) -> tuple[int, int]:
        return 1, 1

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        if self.align is None and query_len != key_len:
            start, end = self._aligned("start"), self._aligned("end")
            raise ValueError(
                f"Mask.{self.kind}: query_len={query_len} and key_len={key_len} differ, so "
                f"{self.kind!r} could mean two things. Write {start} if query 0 sits at key 0, or "
                f"{end} if the last query sits at the last key (as with a cache)."
            )

    @abstractmethod
    def _aligned(self, align: Align) -> "Band":
        """The same band, aligned."""

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        keys = torch.arange(key_len, device=device)
        places = self._places(query_len, key_len, device)[..., None]
        grid = torch.ones((), dtype=torch.bool, device=device).expand(1, 1, query_len, key_len)
        if self.after is not None:
            grid = keys <= places + self.after
        if self.before is not None:
            grid = grid & (keys >= places - self.before)
        return grid

    def _intervals(self, query_len: int, key_len: int, device: torch.device) -> Intervals:
        places = self._places(query_len, key_len, device)
        return Intervals(
            torch.zeros_like(places) if self.before is None else places - self.before,
            torch.full_like(places, key_len) if self.after is None else places + self.after + 1,
        )

    def _unseen(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads key"] | None:
        # Neighbouring queries' windows touch, so only keys before the first or after the last are
        # unseen. A compiled graph is for any lengths, so there the numbers are not looked at.
        if self.align == "start" and self.after is not None:
            stop = query_len + self.after
            if torch.compiler.is_compiling() or stop < key_len:
                return _keys(key_len, device) >= stop
        if self.align == "end" and self.before is not None:
            first = key_len - query_len - self.before
            if torch.compiler.is_compiling() or first > 0:
                return _keys(key_len, device) < first
        return None

    def _all_see(self, query_len: int, key_len: int) -> bool:
        if torch.compiler.is_compiling():  # a compiled graph is for any lengths
            return False
        first = self.offset(query_len, key_len)
        return (self.after is None or first + self.after >= 0) and (
            self.before is None or first + query_len - 1 - self.before < key_len
        )

    def _places(self, query_len: int, key_len: int, device: torch.device) -> Tensor:
        places = torch.arange(query_len, device=device) + self.offset(query_len, key_len)
        return places[None, None]


def _keys(key_len: int, device: torch.device) -> Tensor:
    return torch.arange(key_len, device=device)[None, None]
