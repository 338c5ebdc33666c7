"""Additive attention as operators of torch: weights by the loops, averages by torch's products."""

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.core.dropout import keep_mask
from regard.core.normalizers import logsumexp, softmax
from regard.core.scores.additive import additive_scores
from regard.kernels.additive_cpu import backward, forward
from regard.kernels.additive_cpu.dropout import drop
from regard.kernels.additive_cpu.regions import Region, at_once, pieces
from regard.kernels.additive_cpu.visible import Visible
from regard.kernels.second_derivatives import differentiable_backward

WORTH_A_PRODUCT = 2**18
"""Multiplications for an example's average to be computed by itself, over the keys it sees."""


class _Arrays(NamedTuple):
    """What the loops read, with batch and heads in one axis."""

    query: Any
    key: Any
    blocks: Any
    v: Any
    seen: tuple[Any, ...]


def _arrays(query: Tensor, key: Tensor, blocks: Tensor, v: Tensor, seen: Visible) -> _Arrays:
    missing = blocks.shape[-2] - v.shape[1]
    filled = torch.nn.functional.pad(v.detach(), (0, missing)) if missing else v.detach()
    return _Arrays(
        _examples(query).numpy(),
        _examples(key).numpy(),
        blocks.numpy(),
        filled.contiguous().numpy(),
        tuple(part.numpy() for part in seen),
    )


def _examples(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous().flatten(0, 1)


def _as_given(tensor: Tensor, like: Tensor) -> Tensor:
    """With batch and heads apart again."""
    return tensor.view(*like.shape[:2], *tensor.shape[1:])


@torch.library.custom_op("regard::additive_blocks", mutates_args=(), device_types="cpu")
def additive_blocks(key: Tensor) -> Tensor:
    """What the loops read of projected keys (batch, heads, key, dim): see ``forward.spread``."""
    examples = _examples(key)
    blocks = key.new_empty(_blocks_shape(key))
    if not key.numel():
        return blocks
    arrays = examples.numpy(), blocks.numpy()

    def piece(some: Region) -> None:
        forward.spread(*arrays, *some.examples)

    at_once(piece, [some for (some,) in pieces(len(examples), 1, key.numel() // 4)])
    return blocks


def _blocks_shape(key: Tensor) -> tuple[int, int, int, int]:
    batch, heads, key_len, dim = key.shape
    width = forward.width_for(key_len)
    filled = -(-dim // forward.STRIDE) * forward.STRIDE
    return batch * heads, -(-key_len // width), filled, width


@additive_blocks.register_fake
def _(key: Tensor) -> Tensor:
    return key.new_empty(_blocks_shape(key))


@torch.library.custom_op("regard::additive_attend", mutates_args=(), device_types="cpu")
def additive_attend(
    query: Tensor,
    key: Tensor,
    v: Tensor,
    value: Tensor,
    blocks: Tensor,
    first: Tensor,
    last: Tensor,
    query_ids: Tensor,
    key_ids: Tensor,
    grid: Tensor,
    seed: Tensor,
    dropout_p: float,
    keep_weights: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Context, weights (empty if not kept) and lse, of projected queries and keys.

    Args:
        query, key, value: ``(batch, heads, position, dim)``, float32 or float64.
        v: ``(heads or 1, attn_dim)``.
        blocks: ``additive_blocks(key)``.
        first, last, query_ids, key_ids, grid: see ``Visible``.
        seed: of the dropout, which is none if ``dropout_p`` is 0.
    """
    shape = (*query.shape[:-1], key.shape[-2])
    if 0 in shape:
        return _of_nothing(query, value, query.new_zeros(shape if keep_weights else 0))
    arrays = _arrays(query, key, blocks, v, Visible(first, last, query_ids, key_ids, grid))
    values, heads, key_len = _examples(value), *key.shape[1:3]
    num, query_len = arrays.query.shape[:2]
    context = value.new_empty(num, query_len, value.shape[-1])
    weights = query.new_empty((num, query_len, key_len) if keep_weights else 0)
    lse = query.new_empty(num, query_len)

    def piece(some: Region) -> None:
        for region in some.within_scratch(key_len):
            part = (
                weights[region.place] if keep_weights else query.new_empty(*region.shape, key_len)
            )
            forward.weigh(*arrays, *region, part.numpy(), lse.numpy())
            if dropout_p > 0.0:
                part = _dropped(part, region, seed, dropout_p, heads)
            for examples, own, keys in _seen_keys(arrays.seen, region, value):
                out = context[examples, region.place[1]]
                torch.bmm(part[own, :, keys], values[examples, keys], out=out)

    at_once(piece, [some for row in pieces(num, query_len, _work(arrays)) for some in row])
    return (
        _as_given(context, query),
        _as_given(weights, query) if keep_weights else weights,
        _as_given(lse, query),
    )


def _of_nothing(query: Tensor, value: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where there are no queries or no keys."""
    context = value.new_zeros(*query.shape[:-1], value.shape[-1])
    return context, weights, query.new_full(query.shape[:-1], -torch.inf)


@additive_attend.register_fake
def _(
    query: Tensor, key: Tensor, v: Tensor, value: Tensor, *_: Any, keep_weights: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    keep = _[-1] if _ else keep_weights
    shape = (*query.shape[:-1], key.shape[-2])
    return (
        value.new_empty(*query.shape[:-1], value.shape[-1]),
        query.new_empty(shape if keep else (0,)),
        query.new_empty(query.shape[:-1]),
    )


def _work(arrays: _Arrays) -> int:
    num, rows, dim = arrays.query.shape
    return int(num * rows * dim * arrays.key.shape[1])


def _seen_keys(
    seen: tuple[Any, ...], region: Region, value: Tensor
) -> list[tuple[slice, slice, slice]]:
    """The keys from the first to the last that some query of the region may see.

    For some of its examples at a time: which these are of all, which of the region's, which keys.
    """
    (start, stop), rows = region.examples, slice(*region.rows)
    first = seen[0][..., rows].min(-1).ravel()[start:stop].tolist()
    last = seen[1][..., rows].max(-1).ravel()[start:stop].tolist()
    work = region.shape[1] * value.shape[-2] * value.shape[-1]
    if work < WORTH_A_PRODUCT or len({*first}) == len({*last}) == 1:
        keys = slice(min(first), max(*first, *last))
        return [(slice(start, stop), slice(0, stop - start), keys)]
    return [
        (slice(start + n, start + n + 1), slice(n, n + 1), slice(low, max(low, high)))
        for n, (low, high) in enumerate(zip(first, last, strict=True))
    ]


def _dropped(weights: Tensor, region: Region, seed: Tensor, dropout_p: float, heads: int) -> Tensor:
    dropped = torch.empty_like(weights)
    start = region.examples[0], region.rows[0]
    drop(weights.numpy(), int(seed), dropout_p, heads, *start, dropped.numpy())
    return dropped


@torch.library.custom_op("regard::additive_attend_backward", mutates_args=(), device_types="cpu")
def additive_attend_backward(
    query: Tensor,
    key: Tensor,
    v: Tensor,
    value: Tensor,
    blocks: Tensor,
    first: Tensor,
    last: Tensor,
    query_ids: Tensor,
    key_ids: Tensor,
    grid: Tensor,
    seed: Tensor,
    dropout_p: float,
    weights: Tensor,
    context_grad: Tensor,
    weights_grad: Tensor,
    lse_grad: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of query, key, v and value. What is not kept, or not given, is an empty tensor."""
    if 0 in (*query.shape[:-1], key.shape[-2]):
        query_grad, key_grad, v_grad, value_grad = (
            torch.zeros_like(given) for given in (query, key, v, value)
        )
        return query_grad, key_grad, v_grad, value_grad
    arrays = _arrays(query, key, blocks, v, Visible(first, last, query_ids, key_ids, grid))
    values, pulls = _examples(value), _examples(context_grad)
    heads, key_len = key.shape[1:3]
    num, query_len = arrays.query.shape[:2]
    kept = _examples(weights) if weights.numel() else None
    weights_pulls = _examples(weights_grad) if weights_grad.numel() else None
    lse_pulls = _examples(lse_grad) if lse_grad.numel() else query.new_zeros(num, query_len)
    lse = query.new_empty(num, query_len)  # comes with the weights where they are computed again

    shared = pieces(num, query_len, 2 * _work(arrays))
    # pieces of the same examples, in one list, add each to its own
    own_sums = {some: part for row in shared for part, some in enumerate(row)}
    to_query = query.new_empty(arrays.query.shape)
    to_key = key.new_empty(len(shared[0]), *arrays.key.shape)
    to_value = value.new_empty(len(shared[0]), *values.shape)
    to_v = v.new_empty(len(shared[0]), num, arrays.v.shape[1])

    def piece(some: Region) -> None:
        sums = own_sums[some]
        for total in (to_key, to_value, to_v):
            total[sums, some.place[0]] = 0.0
        for region in some.within_scratch(key_len):
            examples, rows = region.place
            if kept is None:
                part = query.new_empty(*region.shape, key_len)
                forward.weigh(*arrays, *region, part.numpy(), lse.numpy())
            else:
                part = kept[region.place]
            slopes, dropped = torch.zeros_like(part), part
            if dropout_p > 0.0:
                dropped = _dropped(part, region, seed, dropout_p, heads)
            for some_examples, own, keys in _seen_keys(arrays.seen, region, value):
                pulled = pulls[some_examples, rows]
                out = slopes[own, :, keys]
                torch.bmm(pulled, values[some_examples, keys].mT, out=out)
                to_value[sums, some_examples, keys].baddbmm_(dropped[own, :, keys].mT, pulled)
            if dropout_p > 0.0:
                slopes = _dropped(slopes, region, seed, dropout_p, heads)
            if weights_pulls is not None:
                slopes += weights_pulls[region.place]
            backward.slopes(part.numpy(), slopes.numpy(), lse_pulls[region.place].numpy())
            outs = to_query.numpy(), to_key[sums, examples].numpy(), to_v[sums, examples].numpy()
            backward.pull(*arrays, *region, slopes.numpy(), *outs)

    at_once(piece, list(own_sums))
    of_heads = _as_given(to_v.sum(0)[:, : v.shape[1]], query).sum(0)
    return (
        _as_given(to_query, query),
        _as_given(_sum(to_key), query),
        of_heads if v.shape[0] > 1 else of_heads.sum(0, keepdim=True),
        _as_given(_sum(to_value), query),
    )


def _sum(parts: Tensor) -> Tensor:
    return parts[0] if len(parts) == 1 else parts.sum(0)


@additive_attend_backward.register_fake
def _(query: Tensor, key: Tensor, v: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(x) for x in (query, key, v, value))


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    *tensors, dropout_p, _ = inputs
    ctx.save_for_backward(*tensors, output[1])
    ctx.dropout_p = dropout_p
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    *given, weights = ctx.saved_tensors
    if torch.is_grad_enabled():  # gradients of gradients are asked for
        definition = partial(_definition, given=given[5:], dropout_p=ctx.dropout_p)
        found = differentiable_backward(definition, given[:4], grads)
        return (*found, *(None,) * 9)
    query, value = given[0], given[3]
    context_grad, weights_grad, lse_grad = grads
    if context_grad is None:
        context_grad = value.new_zeros(*query.shape[:-1], value.shape[-1])
    found = additive_attend_backward(
        *given,
        ctx.dropout_p,
        weights,
        context_grad,
        *(query.new_zeros(0) if grad is None else grad for grad in (weights_grad, lse_grad)),
    )
    return (*found, *(None,) * 9)


def _definition(
    query: Tensor, key: Tensor, v: Tensor, value: Tensor, *, given: list[Tensor], dropout_p: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Context, weights and lse by plain operations."""
    *seen, seed = given
    scores = additive_scores(query, key, v)
    scores = scores.masked_fill(~Visible(*seen).dense(key.shape[-2]), -torch.inf)
    weights = softmax(scores)
    kept = weights
    if dropout_p > 0.0:
        batch, heads, query_len, key_len = weights.shape
        keep = keep_mask(seed, batch, heads, query_len, key_len, dropout_p)
        kept = weights * keep / (1.0 - dropout_p)
    return kept @ value, weights, logsumexp(scores)


additive_attend.register_autograd(_backward, setup_context=_setup)
