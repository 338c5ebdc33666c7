"""Any score, tile by tile: nothing of size query x key is kept, and the backward scores anew."""

from typing import Any

import torch
from torch import Tensor

from regard.core import dropout
from regard.core.attend import Attended, attend_reference, drop_blind, drop_hidden
from regard.core.autocast import without_autocast
from regard.core.axes import widen
from regard.core.masks import Mask
from regard.core.scores import PreparedKey, Score
from regard.kernels.dot_family import DOT_FAMILY, TOLERANCE
from regard.kernels.kernel import Kernel
from regard.kernels.request import Request, has_hooks, score_kind
from regard.kernels.tiled_attention import Job, tiled_attention
from regard.kernels.tiles import TiledMask, TileSize, tile_size

PAYS_FROM = 2**24
"""Numbers in the reference's largest tensor. With fewer, it is as fast, and memory no matter."""


def attend_tiled(
    query: Tensor,
    key: Tensor | PreparedKey,
    value: Tensor,
    *,
    score: Score,
    may_attend: Mask | None = None,
    bias: Tensor | None = None,
    dropout_p: float = 0.0,
    need_weights: bool = False,
    need_lse: bool = False,
    size: TileSize | None = None,
    **_: Any,
) -> Attended:
    """Arguments are those of :func:`regard.attend`; what is left out has its default.

    ``size`` is that of the tiles; None for one that takes a few MiB.
    """
    if _is_called_in_its_own_way(score):
        return attend_reference(
            query, key, value, score=score, may_attend=may_attend, bias=bias, dropout_p=dropout_p,
            need_weights=need_weights, need_lse=need_lse,
        )  # fmt: skip
    with without_autocast(query.device):
        values = widen(value)
        keys = key if isinstance(key, PreparedKey) else widen(key)
        queries = widen(query)
        if may_attend is not None:
            keys, values = drop_hidden(keys, values, may_attend, query.shape[-2])
            queries = drop_blind(queries, may_attend, key.shape[-2])
        queries = score.project_query(queries)
        keys = keys.projected if isinstance(keys, PreparedKey) else score.project_key(keys)
        bias = None if bias is None else bias.to(values.dtype)
        if unbatched := query.dim() == 2:
            queries, keys, values = queries[None], keys[None], values[None]
            bias = None if bias is None else bias[None]
        scores_shape = (*queries.shape[:-1], keys.shape[-2])
        parameters = dict(score.named_parameters(remove_duplicate=False))
        job = Job(
            score,
            tuple(parameters),
            TiledMask(may_attend, scores_shape, query.device),
            size or tile_size(scores_shape, _width(score_kind(score), keys.shape)),
            dropout_p,
            dropout.draw_seed().to(query.device) if dropout_p else None,
            need_weights,
            need_lse,
        )
        context, weights, lse = tiled_attention(
            job, queries, keys, values, bias, *map(widen, parameters.values())
        )
    if unbatched:
        context = context[0]
        weights = None if weights is None else weights[0]
        lse = None if lse is None else lse[0]
    return Attended(
        context.to(query.dtype), None if weights is None else weights.to(query.dtype), lse
    )


def _is_called_in_its_own_way(score: Score) -> bool:
    """Whether calling it does more than to project and compare."""
    return type(score).forward is not Score.forward or has_hooks(score)


def _width(score: str, key_shape: tuple[int, ...]) -> int:
    """Numbers that comparing one query with one key takes at once: a product takes one."""
    return 1 if score in DOT_FAMILY else key_shape[-1]


def _refusals(request: Request) -> list[str]:
    refused = []
    if request.normalize != "softmax":
        refused.append(f"it normalizes by softmax, not by {request.normalize}")
    if request.is_transformed:
        refused.append("torch.func and forward mode cannot transform it")
    if torch.compiler.is_compiling():
        refused.append("torch.compile cannot trace it")
    if request.device == "meta":
        refused.append("it reads the mask's numbers, and there are none on meta")
    return refused


def _does_not_pay(request: Request) -> list[str]:
    numbers = request.num_pairs if request.score in DOT_FAMILY else request.num_elements
    if numbers >= PAYS_FROM:
        return []
    return [f"batch x query x key x width is {numbers:,}, and it pays from {PAYS_FROM:,}"]


TILED = Kernel(
    name="tiled",
    run=attend_tiled,
    tolerance=TOLERANCE,
    further_refusals=_refusals,
    does_not_pay=_does_not_pay,
)
