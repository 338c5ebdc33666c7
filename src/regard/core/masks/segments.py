"""Several sequences packed into one: each position attends within its own."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from regard.core.errors import shape_text
from regard.core.masks.checks import numbers_text, readable, whole_numbers
from regard.core.masks.description import _lead_axes
from regard.core.masks.mask import Mask


class Segments(Mask):
    """``query_ids[query] == key_ids[key]``; see :meth:`Mask.segments`."""

    def __init__(
        self,
        query_ids: Sequence[int] | Sequence[Sequence[int]] | Shaped[Tensor, "..."],
        key_ids: Sequence[int] | Sequence[Sequence[int]] | Shaped[Tensor, "..."] | None = None,
    ) -> None:
        self._within_itself = key_ids is None
        self.query_ids = _ids("query_ids", query_ids)
        self.key_ids = self.query_ids if key_ids is None else _ids("key_ids", key_ids)

    def __str__(self) -> str:
        key_ids = "" if self._within_itself else f", {numbers_text(self.key_ids)}"
        return f"Mask.segments({numbers_text(self.query_ids)}{key_ids})"

    @property
    def kind(self) -> str:
        return "segments"

    @property
    def _rank(self) -> int:
        return 1 + max(self.query_ids.dim(), self.key_ids.dim())

    def _lead_sizes(self) -> tuple[int, int]:
        batched = self.query_ids if self.query_ids.dim() == 2 else self.key_ids
        return (batched.shape[0] if batched.dim() == 2 else 1), 1

    def _own_lens(self) -> tuple[int | None, int | None]:
        return self.query_ids.shape[-1], self.key_ids.shape[-1]

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        if self._within_itself and query_len != key_len:
            raise ValueError(
                f"Mask.segments: query_len={query_len} and key_len={key_len} differ, but key_ids "
                "was left out, which makes the queries' ids those of the keys too. Pass key_ids, "
                "one id per key."
            )
        for name, ids, length in (
            ("query_ids", self.query_ids, query_len),
            ("key_ids", self.key_ids, key_len),
        ):
            if ids.shape[-1] != length or (ids.dim() == 2 and ids.shape[0] != batch):
                what = name.split("_")[0]
                raise ValueError(
                    f"Mask.segments: {name} has shape {shape_text(ids.shape)} for batch={batch} "
                    f"and {what}_len={length}. Give one id per {what}: shape ({batch}, {length}), "
                    f"or ({length},) if it serves every example."
                )

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        query_ids, key_ids = self._both(device)
        return query_ids[:, None, :, None] == key_ids[:, None, None, :]

    def _unseen(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads key"] | None:
        if self._within_itself:
            return None
        if not readable(self.query_ids) or not readable(self.key_ids):
            return super()._unseen(query_len, key_len, device)  # vmap cannot search, compile fuses
        return self._viewers(device)[:, None] == 0

    def _num_visible(self, query_len: int, key_len: int) -> tuple[int, int]:
        viewers = self._viewers(torch.device("cpu"))
        return int(viewers.sum()), viewers.numel() * query_len

    def _viewers(self, device: torch.device) -> Int[Tensor, "batch key"]:
        """How many queries are of each key's segment, found in their sorted ids."""
        query_ids, key_ids = self._both(device)
        batch = self._lead_sizes()[0]
        ordered = query_ids.expand(batch, -1).sort(dim=-1).values
        key_ids = key_ids.expand(batch, -1).contiguous()
        return torch.searchsorted(ordered, key_ids, right=True) - torch.searchsorted(
            ordered, key_ids
        )

    def ids_for(
        self, scores_shape: Sequence[int], device: torch.device
    ) -> tuple[Int[Tensor, "*query_lead query 1"], Int[Tensor, "*key_lead 1 key"]]:
        """The ids of queries and keys for scores of this shape; where they are equal one may look.

        Raises:
            ValueError: the mask does not fit.
        """
        self._fit(scores_shape)
        query_ids, key_ids = self._both(device)
        rank = len(scores_shape)
        return (
            _lead_axes(query_ids[:, None, :, None], rank),
            _lead_axes(key_ids[:, None, None, :], rank),
        )

    def _both(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The ids as (batch, query) and (batch, key), the batch 1 where they serve all."""
        query_ids, key_ids = (
            (ids if ids.dim() == 2 else ids[None]).to(device)
            for ids in (self.query_ids, self.key_ids)
        )
        return query_ids, key_ids


def _ids(name: str, ids: object) -> Int[Tensor, "..."]:
    tensor = whole_numbers(
        ids,
        given=f"Mask.segments: {name}",
        rule="Segment ids must be whole numbers, one per position.",
        if_bool="Pass ids.long() if True and False name two segments.",
    )
    if tensor.dim() not in (1, 2):
        raise ValueError(
            f"Mask.segments: {name} has shape {shape_text(tensor.shape)}. It must be (position,), "
            "one id per position, or (batch, position). Write ids[None] for a single position."
        )
    return tensor
