"""The additive score on a processor, without the tensor of every (query, key, channel)."""

import importlib.util
import math
from typing import Any

import torch
from torch import Tensor

from regard.core.attend import Attended, drop_blind, drop_hidden
from regard.core.autocast import without_autocast
from regard.core.axes import widen
from regard.core.dropout import draw_seed
from regard.core.masks import Mask
from regard.core.scores import Additive, Concat, PreparedKey
from regard.core.transforms import is_transformed
from regard.kernels.additive_cpu.visible import Visible, visible
from regard.kernels.dot_family import as_given, with_heads
from regard.kernels.kernel import Kernel
from regard.kernels.request import Request

KEPT = 2**23
"""Weights that are kept for the backward pass, rather than computed again: 32 MiB in float32."""

PAYS_FROM = 2**15
"""(query, key, channel)s. With fewer, the call takes longer than the work."""
PAYS_WITH_GRAD_FROM = 2**20
"""The same where gradients of several queries are wanted, which takes two calls."""

_NO_SEED = torch.zeros((), dtype=torch.int64)


def attend_additive_cpu(
    query: Tensor,
    key: Tensor | PreparedKey,
    value: Tensor,
    *,
    score: Additive | Concat,
    may_attend: Mask | None = None,
    dropout_p: float = 0.0,
    need_weights: bool = False,
    need_lse: bool = False,
    **_: Any,
) -> Attended:
    """Arguments are those of :func:`regard.attend`; what is left out has its default."""
    given = query
    with without_autocast(query.device):
        query, value = widen(query), widen(value)
        key = key if isinstance(key, PreparedKey) else widen(key)
        if may_attend is not None:
            if query.shape[-2] > 1 or not isinstance(key, PreparedKey):
                key, value = drop_hidden(key, value, may_attend, query.shape[-2])
            if torch.is_grad_enabled():  # the loops read none of its numbers
                query = drop_blind(query, may_attend, key.shape[-2])
        keys = key.projected if isinstance(key, PreparedKey) else score.project_key(key)
        attended = additive_attention(
            with_heads(score.project_query(query)),
            with_heads(keys),
            with_heads(value),
            score.scoring_vector().to(query.dtype),
            may_attend=may_attend,
            dropout_p=dropout_p,
            need_weights=need_weights,
            kept=key.kept if isinstance(key, PreparedKey) else None,
        )
    return Attended(
        as_given(attended.context, given),
        None if attended.weights is None else as_given(attended.weights, given),
        attended.lse.view(given.shape[:-1]) if need_lse and attended.lse is not None else None,
    )


def additive_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    v: Tensor,
    *,
    may_attend: Mask | None = None,
    dropout_p: float = 0.0,
    need_weights: bool = False,
    kept: dict[str, tuple[Any, ...]] | None = None,
) -> Attended:
    """Attention of projected queries and keys, with lse.

    Args:
        query, key, value: ``(batch, heads, position, dim)``, float32 or float64.
        v: ``(attn_dim,)`` or ``(heads, attn_dim)``.
        kept: where what was made of the key is found, or put.
    """
    from regard.kernels.additive_cpu.given import Given
    from regard.kernels.additive_cpu.operators import attend_now

    scores_shape = (*query.shape[:-1], key.shape[-2])
    keeps_weights = need_weights or (torch.is_grad_enabled() and math.prod(scores_shape) <= KEPT)
    given = Given(
        query,
        key,
        v if v.dim() == 2 else v[None],
        value,
        _blocks(key, query.shape[-2], kept),
        *_seen(may_attend, scores_shape, kept),
        seed=draw_seed() if dropout_p > 0.0 else _NO_SEED,
        dropout_p=dropout_p,
    )
    context, weights, lse = attend_now(given, keeps_weights)
    return Attended(context, weights if need_weights else None, lse)


def _blocks(key: Tensor, query_len: int, kept: dict[str, tuple[Any, ...]] | None) -> Tensor:
    from regard.kernels.additive_cpu.operators import additive_blocks

    blocks: Tensor
    if kept is None or torch.compiler.is_compiling():
        blocks = additive_blocks(key.detach(), query_len)
        return blocks
    name = "additive_cpu, one query" if query_len == 1 else "additive_cpu"
    version = -1 if key.is_inference() else key._version  # it may be changed in place
    if kept.get(name, (None,))[0] != version:
        with torch.inference_mode(False):  # the next call may be one that has gradients
            kept[name] = version, additive_blocks(key.detach(), query_len)
    blocks = kept[name][1]
    return blocks


def _seen(
    may_attend: Mask | None, scores_shape: tuple[int, ...], kept: dict[str, tuple[Any, ...]] | None
) -> Visible:
    if kept is None or torch.compiler.is_compiling() or is_transformed():
        return visible(may_attend, scores_shape)
    seen: Visible | None
    mask, shape, seen = kept.get("additive_cpu, seen", (None, None, None))
    if seen is None or mask is not may_attend or shape != scores_shape:
        with torch.inference_mode(False):  # as above
            seen = visible(may_attend, scores_shape)
        if not seen.grid.numel():  # which may be the caller's own, and be changed in place
            kept["additive_cpu, seen"] = may_attend, scores_shape, seen
    return seen


def _refusals(request: Request) -> list[str]:
    refused = []
    if importlib.util.find_spec("numba") is None:
        refused.append("numba is not installed: pip install 'regard[kernels]'")
    if request.has_bias:
        refused.append("a bias is added to the scores, and it takes none")
    if request.normalize != "softmax":
        refused.append(f"it normalizes by softmax, not by {request.normalize}")
    if request.is_transformed and not request.is_only_vmapped:
        refused.append("of torch.func and forward mode, only vmap can transform it")
    if torch.compiler.is_exporting():
        refused.append("what is exported is made of torch's own operations")
    return refused


def _does_not_pay(request: Request) -> list[str]:
    if torch.compiler.is_compiling():  # a compiled graph is for any sizes
        return []
    of_several = request.need_grad and request.query_shape[-2] > 1
    least = PAYS_WITH_GRAD_FROM if of_several else PAYS_FROM
    if request.num_elements >= least:
        return []
    return [f"batch x query x key x width is {request.num_elements:,}, and it pays from {least:,}"]


ADDITIVE_CPU = Kernel(
    name="additive_cpu",
    run=attend_additive_cpu,
    tolerance={
        torch.float64: 1e-12,
        torch.float32: 1e-5,
        torch.bfloat16: 1e-2,
        torch.float16: 2e-3,
    },
    devices=frozenset({"cpu"}),
    scores=frozenset({"Additive", "Concat"}),
    further_refusals=_refusals,
    does_not_pay=_does_not_pay,
)
