"""torch's fused attention with what it lacks on a CPU: second derivatives."""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend
from torch.nn.functional import scaled_dot_product_attention

from regard.core.autocast import without_autocast
from regard.kernels.second_derivatives import differentiable_backward

_FLASH = SDPBackend.FLASH_ATTENTION.value


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    added: Tensor | None,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """``scaled_dot_product_attention`` of (batch, heads, position, dim), differentiable twice.

    Args:
        added: added to the scores, in their dtype.
        is_causal: in place of ``added``. Then ``scale`` must be positive.
        scale: what the dot products are multiplied by; None for ``1/√d``.
    """
    arguments = query, key, value, added, 0.0, is_causal
    if (
        torch.compiler.is_compiling()  # which promises no second derivatives
        or not torch.is_grad_enabled()
        or not (query.requires_grad or key.requires_grad or value.requires_grad)
        or torch._fused_sdp_choice(*arguments, scale=scale) != _FLASH  # the others have them
    ):
        return scaled_dot_product_attention(*arguments, scale=scale)
    return _Flash.apply(query, key, value, added, is_causal, scale)  # type: ignore[no-untyped-call]


class _Flash(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        added: Tensor | None,
        is_causal: bool,
        scale: float | None,
    ) -> Tensor:
        context, lse = torch._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=added, scale=scale
        )
        ctx.save_for_backward(query, key, value, added, context, lse)
        ctx.is_causal, ctx.scale = is_causal, scale
        return context

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, added, context, lse = ctx.saved_tensors
        if torch.is_grad_enabled():  # gradients of gradients are asked for
            definition = partial(
                torch._scaled_dot_product_attention_math, is_causal=ctx.is_causal, scale=ctx.scale
            )
            inputs = query, key, value, added
            with without_autocast(grad.device):
                gradients = differentiable_backward(definition, inputs, (grad, None))
            return *gradients, None, None
        gradients = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
            grad, query, key, value, context, lse, 0.0, ctx.is_causal,
            attn_mask=added, scale=ctx.scale,
        )  # fmt: skip
        return *gradients, None, None, None
