"""No looking ahead."""

import torch
from jaxtyping import Bool
from torch import Tensor

from regard.core.masks.mask import Align, Mask


class Causal(Mask):
    """``key index <= query index`` (+ the difference of lengths at ``align="end"``)."""

    def __init__(self, align: Align | None = None) -> None:
        if align not in (None, "start", "end"):
            raise ValueError(
                f"Mask.causal: align={align!r}. It must be 'start' (query 0 sits at key 0) or "
                "'end' (the last query sits at the last key, as with a cache)."
            )
        self._align = align

    def __repr__(self) -> str:
        return f"Mask.causal({self._align!r})" if self._align else "Mask.causal()"

    @property
    def kind(self) -> str:
        return "causal"

    @property
    def _rank(self) -> int:
        return 2

    def _lead_sizes(self) -> tuple[int, int]:
        return 1, 1

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        if self._align is None and query_len != key_len:
            raise ValueError(
                f"Mask.causal: query_len={query_len} and key_len={key_len} differ, so 'causal' "
                "could mean two things. Write Mask.causal('start') if query 0 sits at key 0, or "
                "Mask.causal('end') if the last query sits at the last key (as with a cache)."
            )

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        shift = key_len - query_len if self._align == "end" else 0
        query_positions = torch.arange(query_len, device=device) + shift
        grid = torch.arange(key_len, device=device) <= query_positions[:, None]
        return grid[None, None]
