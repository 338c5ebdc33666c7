"""The first n keys of each example: the field's valid lengths."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from regard.core.errors import shape_text
from regard.core.masks.mask import Mask, refuse_where


class Lengths(Mask):
    """``key index < length``; see :meth:`Mask.lengths`."""

    def __init__(
        self, lengths: Sequence[int] | Sequence[Sequence[int]] | Shaped[Tensor, "..."]
    ) -> None:
        tensor = _whole(lengths)
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool:
            raise TypeError(
                f"Mask.lengths: lengths has dtype {_short(tensor.dtype)} and shape "
                f"{shape_text(tensor.shape)}. Lengths are counts of positions, so they must be "
                "whole numbers. "
                + (
                    "For a bool tensor use Mask.dense(...)."
                    if tensor.dtype == torch.bool
                    else "Round them yourself and pass lengths.long()."
                )
            )
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"Mask.lengths: lengths has shape {shape_text(tensor.shape)}. It must be (batch,), "
                "one length per example, or (batch, query_len), one per query. "
                "Use Mask.lengths([n]) for a single example."
            )
        self._lengths = tensor.long()
        refuse_where(
            self._lengths < 0,
            "Mask.lengths: a length is negative.",
            lambda where: (
                f"Mask.lengths: {self._entry(where)}. A length cannot be negative. Use 0 for an "
                "example in which nothing may be attended to."
            ),
        )

    def __repr__(self) -> str:
        return f"Mask.lengths({self._lengths.tolist()})"

    @property
    def kind(self) -> str:
        return "lengths"

    @property
    def _rank(self) -> int:
        return 3

    def _lead_sizes(self) -> tuple[int, int]:
        return self._lengths.shape[0], 1

    def _check(self, batch: int, heads: int, query_len: int, key_len: int) -> None:
        shape = self._lengths.shape
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
        refuse_where(
            self._lengths > key_len,
            "Mask.lengths: a length is longer than the key axis.",
            lambda where: (
                f"Mask.lengths: {self._entry(where)}, longer than the key axis, {key_len}. Clamp "
                "the lengths, or check that they belong to these keys (and are not the queries' "
                "lengths)."
            ),
        )

    def _entry(self, where: list[int]) -> str:
        return f"lengths{where} is {int(self._lengths[tuple(where)])}"

    def _grid(
        self, query_len: int, key_len: int, device: torch.device
    ) -> Bool[Tensor, "batch heads query key"]:
        lengths = self._lengths.to(device)
        lengths = lengths[:, None, :, None] if lengths.dim() == 2 else lengths[:, None, None, None]
        return torch.arange(key_len, device=device) < lengths


def _whole(lengths: object) -> Tensor:
    if isinstance(lengths, list | tuple) and not lengths:
        return torch.zeros(0, dtype=torch.long)  # as_tensor([]) would be float
    try:
        return torch.as_tensor(lengths)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"Mask.lengths: got {lengths!r}. Lengths must be whole numbers, one per example "
            "(batch,) or one per query (batch, query_len). Pass a list of ints or an int tensor."
        ) from None


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
