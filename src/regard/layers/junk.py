"""Inputs of projections without the NaN and infinities that padding may hold."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.core.masks import Mask
from regard.core.zero_fill import may_hold_junk


def without_junk(
    query: Float[Tensor, "batch query query_dim"],
    key: Float[Tensor, "batch key key_dim"],
    value: Float[Tensor, "batch key value_dim"],
    may_attend: Mask,
    num_heads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The inputs with zeros for what is not finite at positions that no query may see.

    ``attend`` makes such positions zero, but only after the projections, whose weights would get
    NaN for a gradient: 0 times what the position holds. Finite numbers do no harm and stay, because
    in self-attention the same positions are queries as well. Inputs that are one tensor stay one.
    """
    if not (may_hold_junk(key) or (value is not key and may_hold_junk(value))):
        return query, key, value
    scores_shape = (query.shape[0], num_heads, query.shape[1], key.shape[1])
    unseen = may_attend.unseen_keys(scores_shape, key.device)  # b h k
    if unseen is None:
        return query, key, value
    unseen = unseen.all(dim=1).unsqueeze(-1)  # b k 1
    clean = _finite_where(unseen, key)
    return (
        clean if query is key else query,
        clean,
        clean if value is key else _finite_where(unseen, value),
    )


def _finite_where(
    unseen: Bool[Tensor, "#batch key 1"], x: Float[Tensor, "batch key dim"]
) -> Float[Tensor, "batch key dim"]:
    return torch.where(unseen, x.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0), x)
