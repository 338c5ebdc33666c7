"""The bilinear score, Luong's "general"."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.scores.score import Score, check_parameter_sizes, per_head, project


class Bilinear(Score):
    r"""``score(q, k) = qᵀ W k`` (Luong et al. 2015, arXiv:1508.04025, section 3.1, "general").

    Args:
        query_dim, key_dim: widths; they may differ. ``weight`` has shape ``(query_dim, key_dim)``.
        num_heads: give each head its own ``weight``.

    >>> import torch
    >>> score = Bilinear(query_dim=3, key_dim=5)
    >>> score(torch.randn(2, 4, 3), torch.randn(2, 7, 5)).shape
    torch.Size([2, 4, 7])
    """

    def __init__(self, *, query_dim: int, key_dim: int, num_heads: int | None = None) -> None:
        super().__init__()
        check_parameter_sizes(self, num_heads, query_dim=query_dim, key_dim=key_dim)
        self.query_dim, self.key_dim, self.num_heads = query_dim, key_dim, num_heads
        self.weight = nn.Parameter(torch.empty(per_head(num_heads, query_dim, key_dim)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scores of unit-variance queries and keys start with unit variance."""
        nn.init.normal_(self.weight, std=(self.weight.shape[-2] * self.weight.shape[-1]) ** -0.5)

    def project_query(self, query: Float[Tensor, "*lead query query_dim"]) -> Tensor:
        """``Wᵀ q``: queries are usually fewer than keys, so W goes to them."""
        return project(query, self.weight.mT)

    def project_key(self, key: Float[Tensor, "*lead key key_dim"]) -> Tensor:
        """The key itself."""
        return key

    def compare(
        self, query: Float[Tensor, "*lead query key_dim"], key: Float[Tensor, "*lead key key_dim"]
    ) -> Float[Tensor, "*lead query key"]:
        """``(qᵀ W) k``."""
        return query @ key.mT

    def extra_repr(self) -> str:
        return f"query_dim={self.query_dim}, key_dim={self.key_dim}, num_heads={self.num_heads}"
