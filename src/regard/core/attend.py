"""The idea, in four lines. Everything else makes them faster, wraps them, or checks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.autocast import without_autocast
from regard.core.axes import widen
from regard.core.dropout import draw_factors
from regard.core.masks import Mask
from regard.core.normalizers import NORMALIZERS, Normalizer, logsumexp
from regard.core.scores.prepared import PreparedKey
from regard.core.zero_fill import may_hold_junk, zero_where

ScoreFunction: TypeAlias = Callable[[Tensor, "Tensor | PreparedKey"], Tensor]


class Attended(NamedTuple):
    """What attention found. A field that was not asked for is None.

    ``context`` (..., query, value_dim) is the weighted average; ``weights`` (..., query, key) sum
    to 1 over keys, or 0 for a row with nothing to attend to, and are those before dropout; ``lse``
    (..., query) is the logsumexp of the scores, in float32 or wider, -inf for such a row.
    """

    context: Float[Tensor, "*lead query value_dim"]
    weights: Float[Tensor, "*lead query key"] | None = None
    lse: Float[Tensor, "*lead query"] | None = None

    def merge(self, other: Attended) -> Attended:
        """Join two parts of the key axis exactly, as if they had been attended to at once.

        Keys of ``self`` come first. Both need ``lse``; the result has weights if both have them.

        Raises:
            ValueError: a part has no lse, or the parts have different queries.

        >>> query, key = torch.randn(1, 2, 4), torch.randn(1, 5, 4)
        >>> from regard import attend
        >>> left = attend(query, key[:, :3], key[:, :3], need_lse=True)
        >>> right = attend(query, key[:, 3:], key[:, 3:], need_lse=True)
        >>> torch.allclose(left.merge(right).context, attend(query, key, key).context)
        True
        """
        if self.lse is None or other.lse is None:
            raise ValueError(
                "Attended.merge: a part has no lse, without which its share is unknown. Ask for "
                "it: attend(..., need_lse=True) on both parts."
            )
        if self.context.shape != other.context.shape:
            raise ValueError(
                f"Attended.merge: contexts {tuple(self.context.shape)} and "
                f"{tuple(other.context.shape)} differ. Both parts must hold the same queries and "
                "value_dim; only their keys differ."
            )
        # not logaddexp, whose derivatives are NaN where a part is empty: -inf - -inf
        top = torch.maximum(self.lse, other.lse).detach()
        top = top.masked_fill(top == -torch.inf, 0.0)
        sizes = (self.lse - top).exp(), (other.lse - top).exp()
        total = sizes[0] + sizes[1]
        empty = total == 0.0
        total = total.masked_fill(empty, 1.0)
        lse = (top + total.log()).masked_fill(empty, -torch.inf)
        shares = [(size / total).unsqueeze(-1) for size in sizes]
        context = (shares[0] * self.context + shares[1] * other.context).to(self.context.dtype)
        weights = None
        if self.weights is not None and other.weights is not None:
            parts = [shares[0] * self.weights, shares[1] * other.weights]
            weights = torch.cat(parts, dim=-1).to(self.weights.dtype)
        return Attended(context, weights, lse)


def attend_reference(
    query: Float[Tensor, "*lead query query_dim"],
    key: Float[Tensor, "*lead key key_dim"] | PreparedKey,
    value: Float[Tensor, "*lead key value_dim"],
    *,
    score: ScoreFunction,
    may_attend: Mask | None = None,
    bias: Float[Tensor, "..."] | None = None,
    normalize: str | Normalizer = "softmax",
    dropout_p: float = 0.0,
    need_weights: bool = False,
    need_lse: bool = False,
) -> Attended:
    """Score, hide, normalize, average: the definition every kernel is compared with.

    Arguments are those of :func:`regard.attend`, which checks them; here they are taken as right.
    ``normalize`` may also be a function, from scores in which the hidden are -inf to weights.
    """
    normalizer = NORMALIZERS[normalize] if isinstance(normalize, str) else normalize
    dtype = query.dtype
    query, value = widen(query), widen(value)
    key = key if isinstance(key, PreparedKey) else widen(key)
    if may_attend is not None:
        key, value = drop_hidden(key, value, may_attend, query.shape[-2])
        query = drop_blind(query, may_attend, key.shape[-2])

    with without_autocast(query.device):  # half precision is scored in float32
        scores = score(query, key)
        scores = scores if bias is None else scores + bias.to(scores.dtype)
        scores = scores if may_attend is None else may_attend.hide(scores)
        weights = normalizer(scores)
        context = drop(weights, dropout_p) @ value

    return Attended(
        context.to(dtype),
        weights.to(dtype) if need_weights else None,
        logsumexp(scores) if need_lse else None,
    )


def drop_hidden(
    key: Tensor | PreparedKey, value: Tensor, may_attend: Mask, query_len: int
) -> tuple[Tensor | PreparedKey, Tensor]:
    """Zeros in key and value at the positions that no query of their example may see."""
    shape = (*value.shape[:-2], query_len, value.shape[-2])
    unseen = may_attend.unseen_keys(shape, value.device)
    if unseen is None:
        return key, value
    unseen = unseen.unsqueeze(-1)
    if not isinstance(key, PreparedKey):
        key, value = zero_where(unseen, key, value)
    elif key.is_zero_where_hidden_by(may_attend):
        (value,) = zero_where(unseen, value)
    else:
        projected, value = zero_where(unseen, key.projected, value)
        key = replace(key, projected=projected)
    return key, value


def drop_blind(
    query: Float[Tensor, "*lead query query_dim"], may_attend: Mask, key_len: int
) -> Tensor:
    """Zeros in the queries that may attend to nothing: NaN there would reach the keys' gradient."""
    if not may_hold_junk(query):
        return query
    blind = may_attend.blind_queries((*query.shape[:-1], key_len), query.device)
    return query if blind is None else zero_where(blind.unsqueeze(-1), query)[0]


def without_blind(attended: Attended, may_attend: Mask, key_len: int) -> Attended:
    """Results through which no gradient enters a row with nothing to attend to.

    Not even NaN, which is what the slope of a root or a logarithm at such a row's 0 may be.
    """
    context, weights, lse = attended
    if not (torch.is_grad_enabled() and context.requires_grad):
        return attended
    blind = may_attend.blind_queries((*context.shape[:-1], key_len), context.device)
    if blind is None:
        return attended
    rows = blind.unsqueeze(-1)
    return Attended(
        torch.where(rows, context.detach(), context),
        None if weights is None else torch.where(rows, weights.detach(), weights),
        None if lse is None else torch.where(blind, lse.detach(), lse),
    )


def drop(weights: Float[Tensor, "*lead query key"], dropout_p: float) -> Tensor:
    """Dropout on weights; see :mod:`regard.core.dropout`."""
    if dropout_p == 0.0:
        return weights
    return weights * draw_factors(weights.shape, dropout_p, weights.dtype, weights.device)
