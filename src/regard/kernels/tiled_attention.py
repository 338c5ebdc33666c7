"""Attention by online softmax over tiles, in plain torch, differentiable twice.

Per query two numbers are kept of all its scores: the highest and the sum of exponentials above it
(Milakov & Gimelshein 2018, arXiv:1805.02867, algorithm 3; Rabe & Staats 2021, arXiv:2112.05682).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from regard.core import dropout
from regard.core.autocast import without_autocast
from regard.core.normalizers import logsumexp, softmax
from regard.core.scores import Score
from regard.kernels.second_derivatives import differentiable_backward
from regard.kernels.tiles import Tile, TiledMask, TileSize


@dataclass(frozen=True, eq=False)
class Job:
    """All that is not a tensor to differentiate by."""

    score: Score
    names: tuple[str, ...]
    """Of the score's parameters, in the order in which they are given."""
    mask: TiledMask
    size: TileSize
    dropout_p: float
    seed: Tensor | None
    need_weights: bool
    need_lse: bool

    def finish(self, compared: Tensor, bias: Tensor | None, tile: Tile) -> Tensor:
        """The scores of a tile: with the bias, and -inf where hidden."""
        scores = compared if bias is None else compared + tile.scores(bias)
        return self.mask.hide(scores, tile)

    def drop(self, weights: Tensor, tile: Tile) -> Tensor:
        """Dropout on a tile's weights, or on their gradient."""
        if self.seed is None:
            return weights
        first = (tile.batch.start, 0, tile.query.start, tile.key.start)
        return weights * dropout.factors(
            self.seed, weights.shape, self.dropout_p, weights.dtype, first=first
        )


ModuleT = TypeVar("ModuleT", bound=nn.Module)
Outputs: TypeAlias = tuple[Tensor, Tensor | None, Tensor | None]


def tiled_attention(
    job: Job, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *parameters: Tensor
) -> Outputs:
    """Context, weights and lse, the latter two if asked for.

    Args:
        query, key: ``(batch, [heads,] position, dim)``, projected.
        bias: added to the scores, in their dtype; all but its key axis may be 1.
        parameters: of the score, in the dtype of the scores or wider.
    """
    return _Tiled.apply(job, query, key, value, bias, *parameters)  # type: ignore[no-untyped-call]


class _Tiled(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        job: Job,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        *parameters: Tensor,
    ) -> Outputs:
        score = with_parameters(job.score, dict(zip(job.names, parameters, strict=True)))
        context = value.new_zeros(*query.shape[:-1], value.shape[-1])
        top = value.new_full((*query.shape[:-1], 1), -torch.inf)
        total = torch.zeros_like(top)
        weights = None
        if job.need_weights:
            weights = value.new_full((*query.shape[:-1], key.shape[-2]), -torch.inf)
        for tile in job.mask.tiles(job.size):
            compared = score.compare(tile.queries(query), tile.keys(key))
            scores = job.finish(compared, bias, tile)
            if weights is not None:
                tile.scores(weights).copy_(scores)
            _add(scores, tile, job, value, context, top, total)
        empty = total == 0.0
        top.masked_fill_(empty, 0.0)
        total.masked_fill_(empty, 1.0)
        context.div_(total)
        if weights is not None:
            weights.sub_(top).exp_().div_(total)
        lse = None
        if job.need_lse:
            lse = (top + total.log()).masked_fill_(empty, -torch.inf).squeeze(-1)

        ctx.job, ctx.num_inputs = job, 4 + len(parameters)
        ctx.save_for_backward(
            query, key, value, bias, *parameters, context, weights, top, total, empty
        )
        ctx.set_materialize_grads(False)
        return context, weights, lse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        inputs, found = ctx.saved_tensors[: ctx.num_inputs], ctx.saved_tensors[ctx.num_inputs :]
        with without_autocast(inputs[0].device):
            if torch.is_grad_enabled():  # gradients of gradients are asked for
                definition = partial(_definition, ctx.job)
                return None, *differentiable_backward(definition, inputs, grads)
            return None, *_backward(ctx.job, inputs, found, grads, ctx.needs_input_grad[1:])


def _definition(
    job: Job, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *parameters: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    score = with_parameters(job.score, dict(zip(job.names, parameters, strict=True)))
    whole = Tile(slice(0, len(query)), slice(0, query.shape[-2]), slice(0, key.shape[-2]))
    scores = job.finish(score.compare(query, key), bias, whole)
    weights = softmax(scores)
    return job.drop(weights, whole) @ value, weights, logsumexp(scores)


def _add(
    scores: Tensor, tile: Tile, job: Job, value: Tensor, context: Tensor, top: Tensor, total: Tensor
) -> None:
    """Count in a tile: ``context`` and ``total`` are sums of exponentials above ``top``."""
    context, top, total = (tile.queries(tensor) for tensor in (context, top, total))
    higher = torch.maximum(top, scores.amax(-1, keepdim=True))
    base = higher.masked_fill(higher == -torch.inf, 0.0)
    exponentials = (scores - base).exp_()
    shrink = top.sub(base).exp_()
    total.mul_(shrink).add_(exponentials.sum(-1, keepdim=True))
    context.mul_(shrink).add_(job.drop(exponentials, tile) @ tile.keys(value))
    top.copy_(higher)


def _backward(
    job: Job,
    inputs: tuple[Tensor, ...],
    found: tuple[Tensor, ...],
    grads: tuple[Tensor | None, ...],
    wanted: tuple[bool, ...],
) -> tuple[Tensor | None, ...]:
    query, key, value, bias, *parameters = inputs
    context, weights, top, total, empty = found
    of_context, of_weights, of_lse = grads
    if of_context is None:
        of_context = torch.zeros_like(context)
    # what the softmax takes off the gradient of each score of a row
    common = (of_context * context).sum(-1, keepdim=True)
    if of_weights is not None:
        common += (of_weights * weights).sum(-1, keepdim=True)
    if of_lse is not None:
        common -= of_lse.unsqueeze(-1).masked_fill(empty, 0.0)

    leaves = [
        tensor.detach().requires_grad_(want)
        for tensor, want in zip(parameters, wanted[4:], strict=True)
    ]
    score = with_parameters(job.score, dict(zip(job.names, leaves, strict=True)))
    gradients = [
        torch.zeros_like(tensor) if want and tensor is not None else None
        for tensor, want in zip(inputs, wanted, strict=True)
    ]
    of_query, of_key, of_value, of_bias, *of_parameters = gradients
    for tile in job.mask.tiles(job.size):
        queries = tile.queries(query).detach().requires_grad_(wanted[0])
        keys = tile.keys(key).detach().requires_grad_(wanted[1])
        with torch.enable_grad():
            compared = score.compare(queries, keys)
        weights_ = job.finish(compared.detach(), bias, tile).sub(tile.queries(top)).exp_()
        weights_.div_(tile.queries(total))
        of_rows = tile.queries(of_context)
        of_scores = job.drop(of_rows @ tile.keys(value).mT, tile)
        if of_weights is not None:
            of_scores = of_scores + tile.scores(of_weights)
        of_scores = (of_scores - tile.queries(common)).mul_(weights_)
        if of_value is not None:
            tile.keys(of_value).add_(job.drop(weights_, tile).mT @ of_rows)
        if of_bias is not None:
            part = tile.scores(of_bias)
            part.add_(of_scores.sum_to_size(part.shape))
        if compared.requires_grad:
            places = [
                None if of_query is None else tile.queries(of_query),
                None if of_key is None else tile.keys(of_key),
                *of_parameters,
            ]
            _accumulate(compared, of_scores, [queries, keys, *leaves], places)
    return tuple(gradients)


def _accumulate(
    compared: Tensor, grad: Tensor, leaves: list[Tensor], places: list[Tensor | None]
) -> None:
    pairs = [(leaf, place) for leaf, place in zip(leaves, places, strict=True) if place is not None]
    found = torch.autograd.grad(compared, [leaf for leaf, _ in pairs], grad, allow_unused=True)
    for (_, place), gradient in zip(pairs, found, strict=True):
        if gradient is not None:
            place.add_(gradient)


def with_parameters(module: ModuleT, tensors: dict[str, Tensor], prefix: str = "") -> ModuleT:
    """The module with these tensors for its parameters; it itself, which threads share, stays.

    (``torch.func.functional_call`` changes the module for the time of the call.)
    """
    copy = module.__new__(type(module))
    copy.__dict__ = vars(module) | {
        "_parameters": {
            name: None if parameter is None else tensors[prefix + name]
            for name, parameter in module._parameters.items()
        },
        "_modules": {
            name: None if part is None else with_parameters(part, tensors, f"{prefix}{name}.")
            for name, part in module._modules.items()
        },
    }
    return copy
