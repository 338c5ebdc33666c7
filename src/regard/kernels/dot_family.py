"""Dot, ScaledDot and Bilinear as torch takes them: scaled products, and what is added to them."""

from typing import NamedTuple

import torch
from torch import Tensor

from regard.core.attend import drop_blind
from regard.core.axes import widen
from regard.core.masks import Mask
from regard.core.masks.causal import Causal
from regard.core.scores import PreparedKey, ScaledDot, Score
from regard.core.zero_fill import are_tame, zero_where
from regard.kernels.request import Request

DOT_FAMILY = frozenset({"Dot", "ScaledDot", "Bilinear"})

TOLERANCE = {
    torch.float64: 1e-12,
    torch.float32: 1e-5,
    torch.bfloat16: 1e-2,
    torch.float16: 2e-3,
}


class Products(NamedTuple):
    """``scores = scale * query @ key.mT + added``, over (batch, heads, position, dim).

    In float32 or wider. Positions that no query may see are zeroed in key and value, unless what
    stands there is tame, and -inf alone makes it count for nothing.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    added: Tensor | None
    """Bias and mask in one: -inf where hidden."""
    is_causal: bool
    """In place of ``added``: no query may see a key after itself. Then the scale is positive."""
    scale: float | None
    """None for ``1/√d``."""


def products(
    query: Tensor,
    key: Tensor | PreparedKey,
    value: Tensor,
    score: Score,
    may_attend: Mask | None,
    bias: Tensor | None,
    *,
    causal_in_a_word: bool,
) -> Products:
    """Arguments are those of :func:`regard.attend`.

    ``causal_in_a_word`` allows ``is_causal``, which spares the -inf.
    """
    query, value = widen(query), widen(value)
    bias = None if bias is None else bias.to(query.dtype)
    scores_shape = (*query.shape[:-1], key.shape[-2])
    # the whole family compares keys as they are
    keys = key.projected if isinstance(key, PreparedKey) else widen(key)

    added, is_causal = bias, False
    if may_attend is not None:
        is_causal = (
            causal_in_a_word and bias is None and _is_torchs_causal(may_attend, scores_shape)
        )
        if is_causal:
            unseen = may_attend.unseen_keys(scores_shape, query.device)  # and it must fit
            tame = unseen is None or are_tame(query, keys, value)
        else:
            tame = are_tame(query, keys, value)
            query = query if tame else drop_blind(query, may_attend, key.shape[-2])
            hiding = may_attend.hiding_for(scores_shape, query.device, query.dtype)
            unseen = hiding.unseen
            added = hiding.added
            if bias is not None:
                added = torch.where(added == 0.0, bias, -torch.inf)
        if unseen is not None and not tame:
            unseen = unseen.unsqueeze(-1)
            if isinstance(key, PreparedKey) and key.is_zero_where_hidden_by(may_attend):
                (value,) = zero_where(unseen, value)
            else:
                keys, value = zero_where(unseen, keys, value)

    if isinstance(score, ScaledDot) and _may_scale_later(score.scale, is_causal):
        scale = score.scale
    else:
        query, scale = score.project_query(query), 1.0
    return Products(
        with_heads(query),
        with_heads(keys),
        with_heads(value),
        None if added is None else with_heads(added),
        is_causal,
        scale,
    )


def _is_torchs_causal(may_attend: Mask, scores_shape: tuple[int, ...]) -> bool:
    """Whether it is causal with query 0 at key 0."""
    if not isinstance(may_attend, Causal):
        return False
    if may_attend.align == "end" and torch.compiler.is_compiling():
        return False  # a compiled graph is for any lengths
    return may_attend.offset(*scores_shape[-2:]) == 0


def _may_scale_later(scale: float | None, is_causal: bool) -> bool:
    # torch's is_causal writes its -inf before it scales: times 0 or less that hides nothing
    return scale is None or scale > 0.0 or not is_causal


def with_heads(tensor: Tensor) -> Tensor:
    """``(batch, heads, position, dim)``, with one head and one example where there were none."""
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(-3)
    return tensor


def as_given(tensor: Tensor, like: Tensor) -> Tensor:
    """With the axes and the dtype of the query as it was given."""
    while tensor.dim() > like.dim():
        tensor = tensor.squeeze(-3)
    return tensor if tensor.dtype == like.dtype else tensor.to(like.dtype)


def common_refusals(request: Request) -> list[str]:
    """What none of the family's kernels serves."""
    refused = []
    if request.need_lse:
        refused.append("lse is asked for, and it gives none")
    if request.normalize != "softmax":
        refused.append(f"it normalizes by softmax, not by {request.normalize}")
    if request.is_transformed:
        refused.append("torch.func and forward mode cannot transform it")
    return refused
