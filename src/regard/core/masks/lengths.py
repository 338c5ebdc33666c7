"""The first n keys of each example: the field's valid lengths."""

from collections.abc import Sequence
from functools import cached_property

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from regard.core.errors import shape_text
from regard.core.masks.checks import numbers_text, readable, refuse_where, whole_numbers
from regard.core.masks.intervals import Intervals
from regard.core.masks.mask import Mask


class Lengths(Mask):
    """``key index < length``; see :meth:`Mask.lengths`."""

    def __init__(
        self, lengths: Sequence[int] | Sequence[Sequence[int]] | Shaped[Tensor, "..."]
    ) -> None:
        tensor = whole_numbers(
            lengths,
            given="Mask.lengths: lengths",
            rule="Lengths count positions, so they must be whole numbers.",
            if_bool="For a bool tensor use Mask.dense(...).",
        )
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"Mask.lengths: lengths has shape {shape_text(tensor.shape)}. It must be (batch,), "
                "one length per example, or (batch, query_len), one per query. "
                "Use Mask.lengths([n]) for a single example."
            )
        self.key_lens = tensor
        if readable(tensor) and self._extremes[0] >= 0:
            return
        refuse_where(
            self.key_lens < 0,
            "Mask.lengths: a length is negative.",
            lambda where: (
                f"Mask.lengths: {self._entry(where)}. A length cannot be negative. Use 0 for an "
                "example in which nothing may be attended to."
            ),
        )

    def __str__(self) -> str:
        return f"Mask.lengths({numbers_text(self.key_lens)})"

    @property
    def kind(self) -> str:
        return "lengths"

    @property
    def _rank(self) -> int:
        return 3

    def _lead_sizes(self) -> tuple[int, int]:
        return self.key_lens.shape[0], 1

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        shape = self.key_lens.shape
        if shape[0] != batch:
            raise ValueError(
                f"Mask.lengths: {shape[0]} lengths, shape {shape_text(shape)}, for a batch of "
                f"{batch}. Give one length per example: shape ({batch},) or ({batch}, {query_len})."
            )
        if len(shape) == 2 and shape[1] != query_len:
            raise ValueError(
                f"Mask.lengths: shape {shape_text(shape)} is (batch, query_len), but there are "
                f"{query_len} queries. Give one length per query, shape ({batch}, {query_len}), "
                f"or one per example, shape ({batch},)."
            )
        if readable(self.key_lens) and self._extremes[1] <= key_len:
            return  # without touching the tensor again, at each step of a decoder
        refuse_where(
            self.key_lens > key_len,
            "Mask.lengths: a length is longer than the key axis.",
            lambda where: (
                f"Mask.lengths: {self._entry(where)}, longer than the key axis, {key_len}. Clamp "
                "the lengths, or check that they belong to these keys (and are not the queries' "
                "lengths)."
            ),
        )

    def _entry(self, where: list[int]) -> str:
        return f"lengths{where} is {int(self.key_lens[tuple(where)])}"

    @cached_property
    def _extremes(self) -> tuple[int, int]:
        """The shortest and the longest."""
        if not self.key_lens.numel():
            return 0, 0
        shortest, longest = torch.aminmax(self.key_lens)
        return int(shortest), int(longest)

    def _all_see(self, query_len: int, key_len: int) -> bool:
        return readable(self.key_lens) and self._extremes[0] > 0

    @property
    def _alike(self) -> bool:
        return self.key_lens.dim() == 1

    def _own_lens(self) -> tuple[int | None, int | None]:
        key_len = max(self._extremes[1], 1) if readable(self.key_lens) else None
        return None if self._alike else self.key_lens.shape[1], key_len

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        return torch.arange(key_len, device=device) < self._per_query(device).unsqueeze(-1)

    def _intervals(self, query_len: int, key_len: int, device: torch.device) -> Intervals:
        lengths = self._per_query(device)
        return Intervals(lengths.new_zeros(1, 1, 1), lengths)

    def _unseen(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads key"]:
        lengths = self._per_query(device)
        longest = lengths if self._alike else lengths.amax(dim=-1, keepdim=True)
        return torch.arange(key_len, device=device) >= longest

    def _per_query(self, device: torch.device) -> Int[Tensor, "batch heads query"]:
        lengths = self.key_lens.to(device).unsqueeze(1)
        return lengths.unsqueeze(1) if self._alike else lengths
