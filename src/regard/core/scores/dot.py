"""Dot-product scores, plain and scaled."""

import math

from jaxtyping import Float
from torch import Tensor

from regard.core.scores.score import Score


class Dot(Score):
    r"""``score(q, k) = q · k`` (Luong et al. 2015, arXiv:1508.04025, section 3.1, "dot").

    Query and key must have the same width.

    >>> import torch
    >>> query, key = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0], [0.0, 1.0]]])
    >>> Dot()(query, key)
    tensor([[[11.,  2.]]])
    """

    def project_query(self, query: Float[Tensor, "*lead query dim"]) -> Tensor:
        """The query itself."""
        return query

    def project_key(self, key: Float[Tensor, "*lead key dim"]) -> Tensor:
        """The key itself."""
        return key

    def compare(
        self, query: Float[Tensor, "*lead query dim"], key: Float[Tensor, "*lead key dim"]
    ) -> Float[Tensor, "*lead query key"]:
        """``q kᵀ``."""
        return query @ key.mT


class ScaledDot(Dot):
    r"""``score(q, k) = q · k / √d`` (Vaswani et al. 2017, arXiv:1706.03762, equation 1).

    Args:
        scale: what the dot product is multiplied by; None for ``1/√d`` of the query's width.

    Raises:
        ValueError: ``scale`` is no finite number.

    >>> import torch
    >>> ScaledDot()(torch.ones(1, 1, 64) * 14, torch.ones(1, 1, 64) / 8)
    tensor([[[14.]]])
    """

    def __init__(self, scale: float | None = None) -> None:
        super().__init__()
        if scale is not None and not math.isfinite(scale):
            raise ValueError(
                f"ScaledDot: scale={scale!r}. The dot product is multiplied by it, so it must be a "
                "finite number. Give one, or None for 1/√d."
            )
        self.scale = scale

    def project_query(self, query: Float[Tensor, "*lead query dim"]) -> Tensor:
        """The query, scaled before the product so that half precision cannot overflow in it."""
        scale = 1.0 / math.sqrt(query.shape[-1]) if self.scale is None else self.scale
        return query * scale

    def extra_repr(self) -> str:
        return "" if self.scale is None else f"scale={self.scale}"
