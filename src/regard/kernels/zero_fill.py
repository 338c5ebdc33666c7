"""Zeros where nobody may look, at the cost of a copy."""

from typing import Any

import torch
from torch import Tensor

_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def zero_where(hidden: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, all float32 or all float64, with zeros where ``hidden``, which may broadcast.

    Whatever stands there, NaN included, reaches neither a result nor a gradient.
    """
    if torch.compiler.is_compiling():  # which fuses it with its neighbours
        return tuple(torch.where(hidden, 0.0, tensor) for tensor in tensors)
    bits = bits_to_keep(hidden, tensors[0].dtype)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return _KeepBits.apply(bits, *tensors)  # type: ignore[no-untyped-call]
    return _keep_bits(bits, tensors)


def bits_to_keep(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """Whole numbers as wide as the dtype: no bit is set where ``hidden``, all are elsewhere."""
    return hidden.to(_BITS[dtype]) - 1


def _keep_bits(bits: Tensor, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    # unlike masked_fill and where, torch computes this many numbers at a time
    return tuple((tensor.view(bits.dtype) & bits).view(tensor.dtype) for tensor in tensors)


class _KeepBits(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, bits: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(bits)
        return _keep_bits(bits, tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (bits,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # gradients of gradients are asked for
            return None, *_KeepBits.apply(bits, *grads)  # type: ignore[no-untyped-call]
        return None, *_keep_bits(bits, grads)
