"""Scores, softmax and average as three operations that overwrite, where the weights are wanted."""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.core.autocast import without_autocast
from regard.core.normalizers import softmax
from regard.core.zero_fill import bits_to_keep
from regard.kernels.second_derivatives import differentiable_backward


def softmax_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    added: Tensor | None,
    factors: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor]:
    """Context and weights of (batch, heads, position, dim), differentiable twice.

    Args:
        added: added to the scores, in their dtype; its first three axes may be 1.
        factors: what the weights are multiplied by before they average, as dropout does.
        scale: what the dot products are multiplied by; None for ``1/√d``.
    """
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    if torch.compiler.is_compiling():  # which fuses by itself
        return _definition(query, key, value, added, factors, scale)
    # once here, or else each product below copies them anew
    arguments = query.contiguous(), key.contiguous(), value.contiguous(), added, factors, scale
    differentiable = (query, key, value) if added is None else (query, key, value, added)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in differentiable):
        return _Softmax.apply(*arguments)  # type: ignore[no-untyped-call]
    return _forward(*arguments)


def _definition(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    added: Tensor | None,
    factors: Tensor | None,
    scale: float,
) -> tuple[Tensor, Tensor]:
    scores = query @ key.mT * scale
    weights = softmax(scores if added is None else scores + added)
    return _dropped(weights, factors) @ value, weights


def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    added: Tensor | None,
    factors: Tensor | None,
    scale: float,
) -> tuple[Tensor, Tensor]:
    shape = (*query.shape[:-1], key.shape[-2])
    start = query.new_empty(shape) if added is None else query.new_empty(shape).copy_(added)
    weights = start.flatten(0, 1).baddbmm_(
        query.flatten(0, 1), key.flatten(0, 1).mT, beta=0 if added is None else 1, alpha=scale
    )
    torch.softmax(weights, dim=-1, out=weights)
    weights = weights.view(shape)
    if added is not None:
        empty = (added == -torch.inf).all(dim=-1, keepdim=True)
        bits = bits_to_keep(empty, weights.dtype)
        weights.view(bits.dtype).bitwise_and_(bits)  # the softmax of nothing, NaN, becomes 0
    return _dropped(weights, factors) @ value, weights


def _dropped(weights: Tensor, factors: Tensor | None) -> Tensor:
    return weights if factors is None else weights * factors


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        added: Tensor | None,
        factors: Tensor | None,
        scale: float,
    ) -> tuple[Tensor, Tensor]:
        context, weights = _forward(query, key, value, added, factors, scale)
        ctx.save_for_backward(query, key, value, added, factors, weights)
        ctx.scale = scale
        ctx.set_materialize_grads(False)  # weights are seldom part of a loss
        return context, weights

    @staticmethod
    def backward(
        ctx: Any, of_context: Tensor | None, of_weights: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        *inputs, weights = ctx.saved_tensors
        if of_context is None:
            of_context = weights.new_zeros(*weights.shape[:-1], inputs[2].shape[-1])
        with without_autocast(weights.device):
            if torch.is_grad_enabled():  # gradients of gradients are asked for
                definition = partial(_definition, scale=ctx.scale)
                return *differentiable_backward(definition, inputs, (of_context, of_weights)), None
            return *_backward(inputs, ctx.scale, weights, of_context, of_weights), None


def _backward(
    inputs: list[Tensor],
    scale: float,
    weights: Tensor,
    of_context: Tensor,
    of_weights: Tensor | None,
) -> tuple[Tensor | None, ...]:
    query, key, value, added, factors = inputs
    of_context = of_context.contiguous()
    of_scores = of_context @ value.mT
    if factors is not None:
        of_scores *= factors
    if of_weights is not None:
        of_scores += of_weights
    torch._softmax_backward_data(of_scores, weights, -1, weights.dtype, grad_input=of_scores)
    return (
        (of_scores @ key).mul_(scale),
        (of_scores.mT @ query).mul_(scale),
        _dropped(weights, factors).mT @ of_context,
        of_scores.sum_to_size(added.shape) if added is not None and added.requires_grad else None,
        None,
    )
