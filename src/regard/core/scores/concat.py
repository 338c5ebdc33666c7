"""The concat score, Luong's: the additive score with one weight for query and key together."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.scores.additive import additive_scores
from regard.core.scores.score import Score, check_parameter_sizes, per_head, project


class Concat(Score):
    r"""``score(q, k) = vᵀ tanh(W [q; k])`` (Luong et al. 2015, arXiv:1508.04025, section 3.1).

    ``W [q; k] = W_q q + W_k k``: it is the :class:`Additive` score whose two weights lie side by
    side in one, and is computed so.

    Args:
        query_dim, key_dim: widths; they may differ.
        attn_dim: width inside. ``weight`` has shape ``(attn_dim, query_dim + key_dim)``.
        num_heads: give each head its own parameters.

    >>> import torch
    >>> score = Concat(query_dim=4, key_dim=6, attn_dim=8)
    >>> score(torch.randn(2, 3, 4), torch.randn(2, 5, 6)).shape
    torch.Size([2, 3, 5])
    """

    def __init__(
        self, *, query_dim: int, key_dim: int, attn_dim: int, num_heads: int | None = None
    ) -> None:
        super().__init__()
        check_parameter_sizes(
            self, num_heads, query_dim=query_dim, key_dim=key_dim, attn_dim=attn_dim
        )
        self.query_dim, self.key_dim, self.num_heads = query_dim, key_dim, num_heads
        self.attn_dim = attn_dim
        self.weight = nn.Parameter(torch.empty(per_head(num_heads, attn_dim, query_dim + key_dim)))
        self.v = nn.Parameter(torch.empty(per_head(num_heads, attn_dim)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As a linear layer of both inputs; ``‖v‖`` about 1."""
        bound = self.weight.shape[-1] ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.normal_(self.v, std=self.v.shape[-1] ** -0.5)

    def scoring_vector(self) -> Float[Tensor, "*heads attn_dim"]:
        """``v``."""
        return self.v

    def project_query(self, query: Float[Tensor, "*lead query query_dim"]) -> Tensor:
        """``W_q q``."""
        return project(query, self.weight[..., : self.query_dim])

    def project_key(self, key: Float[Tensor, "*lead key key_dim"]) -> Tensor:
        """``W_k k``."""
        return project(key, self.weight[..., self.query_dim :])

    def compare(
        self, query: Float[Tensor, "*lead query attn_dim"], key: Float[Tensor, "*lead key attn_dim"]
    ) -> Float[Tensor, "*lead query key"]:
        """``vᵀ tanh(W_q q + W_k k)``, every query with every key."""
        return additive_scores(query, key, self.scoring_vector())

    def extra_repr(self) -> str:
        return (
            f"query_dim={self.query_dim}, key_dim={self.key_dim}, attn_dim={self.attn_dim}, "
            f"num_heads={self.num_heads}"
        )
