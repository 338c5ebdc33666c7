"""Additive attention as operators of torch, with their derivatives."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.core.dropout import factors
from regard.core.normalizers import logsumexp, softmax
from regard.core.scores.additive import additive_scores
from regard.core.transforms import is_transformed
from regard.kernels.additive_cpu import batched, forward
from regard.kernels.additive_cpu.backward_pass import gradients
from regard.kernels.additive_cpu.forward_pass import attend
from regard.kernels.additive_cpu.given import SCHEMA, Given, examples
from regard.kernels.additive_cpu.regions import Region, at_once, pieces
from regard.kernels.second_derivatives import differentiable_backward

_NUM = len(Given._fields)


@torch.library.custom_op("regard::additive_blocks", mutates_args=(), device_types="cpu")
def additive_blocks(key: Tensor, query_len: int) -> Tensor:
    """What the loops read of projected keys (batch, heads, key, dim): see ``forward.spread``."""
    blocks = key.new_empty(_blocks_shape(key, query_len))
    if not key.numel():
        return blocks
    arrays = examples(key).numpy(), blocks.numpy()

    def piece(some: Region) -> None:
        forward.spread(*arrays, *some.examples)

    at_once(piece, [some for (some,) in pieces(len(blocks), 1, key.numel() // 4)])
    return blocks


def _blocks_shape(key: Tensor, query_len: int) -> tuple[int, int, int, int]:
    batch, heads, key_len, dim = key.shape
    width = forward.width_for(key_len, query_len)
    filled = -(-dim // forward.STRIDE) * forward.STRIDE
    return batch * heads, -(-key_len // width), filled, width


@additive_blocks.register_fake
def _(key: Tensor, query_len: int) -> Tensor:
    return key.new_empty(_blocks_shape(key, query_len))


@additive_blocks.register_vmap
def _(info: Any, axes: batched.Axes, key: Tensor, query_len: int) -> tuple[Tensor, int]:
    assert axes[0] is not None
    return batched.blocks(additive_blocks, axes[0], key, query_len), 0


@torch.library.custom_op(
    "regard::additive_attend",
    mutates_args=(),
    device_types="cpu",
    schema=f"({SCHEMA}, bool keep_weights) -> (Tensor, Tensor, Tensor)",
)
def additive_attend(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Context, weights (empty if not kept) and lse, of projected queries and keys."""
    return attend(Given(*arguments[:_NUM]), arguments[_NUM])


@additive_attend.register_fake
def _(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    given, keep_weights = Given(*arguments[:_NUM]), arguments[_NUM]
    query, value = given.query, given.value
    return (
        value.new_empty(*query.shape[:-1], value.shape[-1]),
        query.new_empty(given.scores_shape if keep_weights else (0,)),
        query.new_empty(query.shape[:-1]),
    )


@additive_attend.register_vmap
def _(info: Any, axes: batched.Axes, *arguments: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    return batched.each(additive_attend, info.batch_size, axes, arguments), (0, 0, 0)


@torch.library.custom_op(
    "regard::additive_attend_backward",
    mutates_args=(),
    device_types="cpu",
    schema=f"({SCHEMA}, Tensor weights, Tensor context_grad, Tensor weights_grad, Tensor lse_grad)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)
def additive_attend_backward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of query, key, v and value. What is not kept, or not given, is an empty tensor."""
    return gradients(Given(*arguments[:_NUM]), *arguments[_NUM:])


@additive_attend_backward.register_fake
def _(*arguments: Any) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(tensor) for tensor in arguments[:4])


@additive_attend_backward.register_vmap
def _(info: Any, axes: batched.Axes, *arguments: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    query, key, v, value = batched.each(additive_attend_backward, info.batch_size, axes, arguments)
    if arguments[2].shape[-2] < v.shape[1]:  # one for all heads
        v = v.sum(1, keepdim=True)
    return (query, key, v, value), (0, 0, 0, 0)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    *tensors, dropout_p, _ = inputs
    ctx.save_for_backward(*tensors, output[1])
    ctx.dropout_p = dropout_p
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    weights = ctx.saved_tensors[-1]
    given = Given._make((*ctx.saved_tensors[:-1], ctx.dropout_p))
    nothing = (None,) * (_NUM - 3)
    if torch.is_grad_enabled():  # gradients of gradients are asked for
        definition = partial(_definition, given=given)
        return (*differentiable_backward(definition, given[:4], grads), *nothing)
    query, value = given.query, given.value
    context_grad, weights_grad, lse_grad = grads
    if context_grad is None:
        context_grad = value.new_zeros(*query.shape[:-1], value.shape[-1])
    pulls = [query.new_zeros(0) if grad is None else grad for grad in (weights_grad, lse_grad)]
    compute = gradients if _is_plain(given, context_grad, *pulls) else _gradients_by_operator
    return (*compute(given, weights, context_grad, *pulls), *nothing)


def _gradients_by_operator(given: Given, *others: Tensor) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = additive_attend_backward(*given, *others)
    return found


def _definition(
    query: Tensor, key: Tensor, v: Tensor, value: Tensor, *, given: Given
) -> tuple[Tensor, Tensor, Tensor]:
    """Context, weights and lse by plain operations."""
    may_attend = given.seen.dense(key.shape[-2])
    unseen = ~may_attend.any(-2).unsqueeze(-1)
    key, value = key.masked_fill(unseen, 0.0), value.masked_fill(unseen, 0.0)
    scores = additive_scores(query, key, v).masked_fill(~may_attend, -torch.inf)
    weights = kept = softmax(scores)
    if given.dropout_p > 0.0:
        kept = weights * factors(given.seed, weights.shape, given.dropout_p, weights.dtype)
    return kept @ value, weights, logsumexp(scores)


additive_attend.register_autograd(_backward, setup_context=_setup)


class _Plain(torch.autograd.Function):
    """The same derivatives, past torch's operators, which take longer than a decoder's step: what
    torch makes of ``register_autograd`` reads all of the schema at every call."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        outputs = attend(Given(*arguments[:_NUM]), arguments[_NUM])
        _setup(ctx, arguments, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return _backward(ctx, *grads)


def attend_now(given: Given, keep_weights: bool) -> tuple[Tensor, Tensor, Tensor]:
    """``additive_attend``, by the shortest way to it."""
    if not _is_plain(given):
        outputs: tuple[Tensor, Tensor, Tensor] = additive_attend(*given, keep_weights)
    elif torch.is_grad_enabled():
        outputs = _Plain.apply(*given, keep_weights)  # type: ignore[no-untyped-call]
    else:
        outputs = attend(given, keep_weights)
    return outputs


def _is_plain(given: Given, *grads: Tensor) -> bool:
    """Whether nobody but autograd follows what is computed: no compiler, no transform, no mode."""
    return not (
        torch.compiler.is_compiling()
        or is_transformed()
        or torch._C._len_torch_dispatch_stack()
        or any(type(tensor) not in (Tensor, torch.nn.Parameter) for tensor in given[:4])
        or any(map(torch._C._functorch.is_legacy_batchedtensor, grads))  # is_grads_batched
    )
