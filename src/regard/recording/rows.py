"""That rows of weights sum to 1, or to 0 where there is nothing to attend to."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import dtype_text, shape_text

_TOLERANCES = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def check_weights(given: str, weights: object, *, normalized: bool, otherwise: str) -> None:
    """Refuse what are no weights; ``given`` names them, ``otherwise`` says what else to write.

    Rows of NaN pass: torch gives them to a query with nothing to attend to.

    Raises:
        TypeError: no tensor of floating-point numbers.
        ValueError: other axes, or rows that sum to neither 1 nor 0.
    """
    if not isinstance(weights, Tensor):
        raise TypeError(
            f"{given} is a {type(weights).__name__}. It must be a torch tensor. Write "
            "torch.as_tensor(weights)."
        )
    if weights.dim() not in (2, 3, 4):
        raise ValueError(
            f"{given} {shape_text(weights.shape)}. They are (query, key), (batch, query, key) or "
            "(batch, heads, query, key). Add or merge axes."
        )
    if not weights.is_floating_point():
        raise TypeError(
            f"{given} {shape_text(weights.shape)} have dtype {dtype_text(weights.dtype)}. Weights "
            "are floating-point numbers. Write weights.float()."
        )
    if weights.layout != torch.strided:
        raise TypeError(
            f"{given} {shape_text(weights.shape)} have layout {weights.layout}. Weights are dense. "
            "Write weights.to_dense()."
        )
    if normalized:
        _check_sums(given, weights, otherwise)


def _check_sums(given: str, weights: Float[Tensor, "... query key"], otherwise: str) -> None:
    sums = weights.detach().double().sum(-1)
    apart = torch.minimum((sums - 1.0).abs(), sums.abs())
    wrong = (apart > _TOLERANCES.get(weights.dtype, 5e-2)).nonzero()
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise ValueError(
            f"{given} {shape_text(weights.shape)}: row {place} sums to {float(sums[place]):.4g}. "
            "Rows sum to 1, or to 0 where there is nothing to attend to, before dropout. Normalize "
            "over the key axis, the last, scores.softmax(-1) or weights / weights.sum(-1, "
            f"keepdim=True); {otherwise}."
        )
