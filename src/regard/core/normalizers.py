"""From scores to weights: softmax over the keys, zeros where there is nothing to attend to."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from regard.core.errors import dtype_text, shape_text
from regard.core.masks import Mask, as_mask

Normalizer: TypeAlias = Callable[[Tensor], Tensor]


def softmax(scores: Float[Tensor, "*lead query key"]) -> Float[Tensor, "*lead query key"]:
    """Softmax over keys in which a row of -inf gives zeros, with zero gradient, never NaN."""
    empty = empty_rows(scores)
    return torch.softmax(scores.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)


def logsumexp(scores: Float[Tensor, "*lead query key"]) -> Float[Tensor, "*lead query"]:
    """Log of the softmax's denominator; -inf, with zero gradient, for a row of -inf."""
    empty = empty_rows(scores)
    lse = torch.logsumexp(scores.masked_fill(empty, 0.0), dim=-1)
    return lse.masked_fill(empty.squeeze(-1), -torch.inf)


def empty_rows(scores: Float[Tensor, "*lead query key"]) -> Shaped[Tensor, "*lead query 1"]:
    """True where every score of the row is -inf."""
    return (scores == -torch.inf).all(dim=-1, keepdim=True)


NORMALIZERS: dict[str, Normalizer] = {"softmax": softmax}


def masked_softmax(
    scores: Shaped[Tensor, "*lead key"],
    may_attend: Mask | Shaped[Tensor, "..."] | Sequence[int] | None = None,
) -> Float[Tensor, "*lead key"]:
    r"""Softmax over the last axis among the positions that may be attended to.

    .. math:: \alpha_j = \frac{m_j e^{s_j}}{\sum_k m_k e^{s_k}}, \quad 0 \text{ if all } m_k = 0

    Args:
        scores: ``(query, key)``, ``(batch, query, key)`` or ``(batch, heads, query, key)``. Half
            precision is normalized in float32 and returned in its own dtype.
        may_attend: a :class:`Mask`; a bool tensor, True = may attend; or lengths, whole numbers
            of shape ``(batch,)`` or ``(batch, query_len)``.

    Raises:
        TypeError: scores that are not floating point; a mask that is neither bool nor whole
            numbers.
        ValueError: shapes that do not fit, or could be read in two ways.

    >>> scores = torch.tensor([[[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]]])
    >>> masked_softmax(scores, [2, 0])
    tensor([[[0.2689, 0.7311, 0.0000]],
    <BLANKLINE>
            [[0.0000, 0.0000, 0.0000]]])
    """
    if scores.dim() not in (2, 3, 4):
        raise ValueError(
            f"masked_softmax: scores has shape {shape_text(scores.shape)}. It must be (query, key),"
            " (batch, query, key) or (batch, heads, query, key). For a single row write "
            "scores[None]."
        )
    if not scores.is_floating_point():
        raise TypeError(
            f"masked_softmax: scores has dtype {dtype_text(scores.dtype)}. Weights "
            "are fractions, so scores must be floating point. Convert them with scores.float()."
        )
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if may_attend is not None:
        wide = _mask_or_lengths(may_attend, scores).hide(wide)
    return softmax(wide).to(scores.dtype)


def _mask_or_lengths(
    may_attend: Mask | Shaped[Tensor, "..."] | Sequence[int], scores: Tensor
) -> Mask:
    if isinstance(may_attend, Mask) or (
        isinstance(may_attend, Tensor) and may_attend.dtype == torch.bool
    ):
        return as_mask(may_attend)
    lengths = Mask.lengths(may_attend)
    if scores.dim() == 2 and len(may_attend) != 1:
        raise ValueError(
            f"masked_softmax: scores {shape_text(scores.shape)} are (query, key), with no batch "
            f"for {len(may_attend)} lengths. If they are (batch, key), write scores[:, None, :]; "
            "if (query, key) with one length per query, write scores[None] and lengths[None]."
        )
    return lengths
