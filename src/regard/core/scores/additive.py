"""The additive score, Bahdanau's."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.axes import widen
from regard.core.scores.score import Score, check_parameter_sizes, per_head, project


class Additive(Score):
    r"""``score(q, k) = vᵀ tanh(W q + U k)`` (Bahdanau et al. 2015, arXiv:1409.0473, section 3.1
    and appendix A.1.2).

    Args:
        query_dim, key_dim: widths of query and key; they may differ.
        attn_dim: width inside the score. ``query_weight`` (W_a) has shape
            ``(attn_dim, query_dim)``, ``key_weight`` (U_a) ``(attn_dim, key_dim)``, ``v``
            ``(attn_dim,)``.
        bias: add b inside the tanh.
        normalized: use ``g v / ‖v‖`` in place of v, with a learned scalar g (Salimans & Kingma
            2016, arXiv:1602.07868, equation 2), and the bias as well.
        num_heads: give each head its own parameters.

    >>> import torch
    >>> score = Additive(query_dim=4, key_dim=6, attn_dim=8)
    >>> score(torch.randn(2, 3, 4), torch.randn(2, 5, 6)).shape
    torch.Size([2, 3, 5])
    """

    def __init__(
        self,
        *,
        query_dim: int,
        key_dim: int,
        attn_dim: int,
        bias: bool = False,
        normalized: bool = False,
        num_heads: int | None = None,
    ) -> None:
        super().__init__()
        check_parameter_sizes(
            self, num_heads, query_dim=query_dim, key_dim=key_dim, attn_dim=attn_dim
        )
        self.query_dim, self.key_dim, self.num_heads = query_dim, key_dim, num_heads
        self.attn_dim, self.normalized = attn_dim, normalized
        self.query_weight = nn.Parameter(torch.empty(per_head(num_heads, attn_dim, query_dim)))
        self.key_weight = nn.Parameter(torch.empty(per_head(num_heads, attn_dim, key_dim)))
        self.v = nn.Parameter(torch.empty(per_head(num_heads, attn_dim)))
        self.bias = (
            nn.Parameter(torch.empty(per_head(num_heads, attn_dim))) if bias or normalized else None
        )
        self.g = nn.Parameter(torch.empty(per_head(num_heads, 1))) if normalized else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """W and U as torch initializes linear layers; ``‖v‖`` about 1; bias 0."""
        for weight in (self.query_weight, self.key_weight):
            nn.init.uniform_(weight, -(weight.shape[-1] ** -0.5), weight.shape[-1] ** -0.5)
        nn.init.normal_(self.v, std=self.v.shape[-1] ** -0.5)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self.g is not None:
            nn.init.constant_(self.g, self.v.shape[-1] ** -0.5)

    def scoring_vector(self) -> Float[Tensor, "*heads attn_dim"]:
        """``v``, or ``g v / ‖v‖`` when normalized, half precision in float32."""
        if self.g is None:
            return self.v
        v = widen(self.v)
        return widen(self.g) * v / torch.linalg.vector_norm(v, dim=-1, keepdim=True)

    def project_query(self, query: Float[Tensor, "*lead query query_dim"]) -> Tensor:
        """``W q`` (+ b: with the queries, so that keys of zeros stay zeros)."""
        projected = project(query, self.query_weight)
        return (
            projected if self.bias is None else projected + self.bias.unsqueeze(-2).to(query.dtype)
        )

    def project_key(self, key: Float[Tensor, "*lead key key_dim"]) -> Tensor:
        """``U k``."""
        return project(key, self.key_weight)

    def compare(
        self, query: Float[Tensor, "*lead query attn_dim"], key: Float[Tensor, "*lead key attn_dim"]
    ) -> Float[Tensor, "*lead query key"]:
        """``vᵀ tanh(W q + U k)``, every query with every key."""
        return additive_scores(query, key, self.scoring_vector())

    def extra_repr(self) -> str:
        return (
            f"query_dim={self.query_dim}, key_dim={self.key_dim}, attn_dim={self.attn_dim}, "
            f"bias={self.bias is not None}, normalized={self.normalized}, "
            f"num_heads={self.num_heads}"
        )


def additive_scores(
    query: Float[Tensor, "*lead query attn_dim"],
    key: Float[Tensor, "*lead key attn_dim"],
    v: Float[Tensor, "*heads attn_dim"],
) -> Float[Tensor, "*lead query key"]:
    """``vᵀ tanh(q + k)`` of projected queries and keys, every query with every key."""
    hidden = torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3))  # ... q k attn_dim
    return (hidden @ v.to(hidden.dtype).unsqueeze(-1).unsqueeze(-3)).squeeze(-1)
