"""Zeros where nobody may look, at the cost of a copy."""

import math
from typing import Any

import torch
from torch import Tensor

from regard.core.masks.checks import readable
from regard.core.transforms import is_transformed

_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Whole numbers, by the bytes of a float as wide."""

TAME = 1e6
"""Two such numbers, multiplied with parameters and summed, are far from float32's largest, 3e38."""


def zero_where(hidden: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, all of one floating dtype, with zeros where ``hidden``, which may broadcast.

    Whatever stands there, NaN included, reaches neither a result nor a gradient.
    """
    if torch.compiler.is_compiling() or is_transformed():  # the one fuses it, the other traces it
        return tuple(torch.where(hidden, 0.0, tensor) for tensor in tensors)
    bits = bits_to_keep(hidden, tensors[0].dtype)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return _KeepBits.apply(bits, *tensors)  # type: ignore[no-untyped-call]
    return _keep_bits(bits, tensors)


def bits_to_keep(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """Whole numbers as wide as the dtype: no bit is set where ``hidden``, all are elsewhere."""
    return hidden.to(_BITS[dtype.itemsize]).sub_(1)


def may_hold_junk(tensor: Tensor) -> bool:
    """Whether it may hold NaN or infinity: one sum tells, where Python may read it at no cost."""
    if tensor.device.type != "cpu" or not readable(tensor) or is_transformed():
        return True
    return not math.isfinite(tensor.detach().sum().item())


def are_tame(*tensors: Tensor) -> bool:
    """Whether all is known to be finite and small, so that no product of it overflows.

    Then a weight of exactly 0 undoes it, in results and in gradients. False where Python may not
    look, or not at no cost.
    """
    return all(map(_is_tame, tensors))


def _is_tame(tensor: Tensor) -> bool:
    if tensor.device.type != "cpu" or not readable(tensor) or is_transformed():
        return False
    if not tensor.numel():
        return True
    tensor = tensor.detach()
    if tensor.is_contiguous():  # only then is torch quick at both in one
        least, largest = torch.aminmax(tensor)
        return bool(least.item() >= -TAME and largest.item() <= TAME)
    return bool(tensor.abs().amax().item() <= TAME)


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
