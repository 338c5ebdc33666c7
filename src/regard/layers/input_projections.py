"""What multi-head attention does to its inputs first: ``Q W_Q``, ``K W_K`` and ``V W_V``."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Heads(NamedTuple):
    """Projected inputs, an equal part of their width for each head."""

    query: Float[Tensor, "batch heads query head_dim"]
    key: Float[Tensor, "batch heads key head_dim"]
    value: Float[Tensor, "batch heads key head_dim"]


class InputProjections(nn.Module):
    """Three linear layers, which share one matrix product where they read the same tensor.

    ``widths`` are those of query, key and value. Where they are equal the weights lie below one
    another in ``weight`` ``(3 embed_dim, width)``; otherwise they are ``query_weight``,
    ``key_weight`` and ``value_weight``, each ``(embed_dim, width)``. ``bias`` is
    ``(3 embed_dim,)`` or None.

    >>> projections = InputProjections(8, num_heads=2, widths=(6, 6, 6))
    >>> x = torch.randn(3, 5, 6)
    >>> [tuple(heads.shape) for heads in projections(x, x, x)]
    [(3, 2, 5, 4), (3, 2, 5, 4), (3, 2, 5, 4)]
    """

    def __init__(
        self,
        embed_dim: int,
        *,
        num_heads: int,
        widths: tuple[int, int, int],
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.embed_dim, self.num_heads, self.widths = embed_dim, num_heads, widths
        query_dim, key_dim, value_dim = widths
        self.weight = self.query_weight = self.key_weight = self.value_weight = None
        if query_dim == key_dim == value_dim:
            self.weight = nn.Parameter(torch.empty(3 * embed_dim, query_dim))
        else:
            self.query_weight = nn.Parameter(torch.empty(embed_dim, query_dim))
            self.key_weight = nn.Parameter(torch.empty(embed_dim, key_dim))
            self.value_weight = nn.Parameter(torch.empty(embed_dim, value_dim))
        self.bias = nn.Parameter(torch.empty(3 * embed_dim)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Each of the three as Glorot & Bengio (2010) for its own widths; bias 0."""
        for weight in self.weights():
            nn.init.xavier_uniform_(weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """``W_Q``, ``W_K`` and ``W_V``, each ``(embed_dim, width)``."""
        if self.weight is not None:
            query, key, value = self.weight.chunk(3)
            return query, key, value
        return self.query_weight, self.key_weight, self.value_weight  # type: ignore[return-value]

    def forward(
        self,
        query: Float[Tensor, "batch query query_dim"],
        key: Float[Tensor, "batch key key_dim"],
        value: Float[Tensor, "batch key value_dim"],
    ) -> Heads:
        """Project each by its own weight and bias, and split it into heads."""
        if self.weight is not None and query is key is value:
            return Heads(*self._heads(query, self.weight, self.bias, 3))
        return Heads(self.of_query(query), *self.of_key_and_value(key, value))

    def of_query(
        self, query: Float[Tensor, "batch query query_dim"]
    ) -> Float[Tensor, "batch heads query head_dim"]:
        """``Q W_Q`` alone."""
        bias = None if self.bias is None else self.bias[: self.embed_dim]
        return self._heads(query, self.weights()[0], bias, 1)[0]

    def of_key_and_value(
        self,
        key: Float[Tensor, "batch key key_dim"],
        value: Float[Tensor, "batch key value_dim"],
    ) -> tuple[
        Float[Tensor, "batch heads key head_dim"], Float[Tensor, "batch heads key head_dim"]
    ]:
        """``K W_K`` and ``V W_V``."""
        bias = None if self.bias is None else self.bias[self.embed_dim :]
        if self.weight is not None and key is value:
            keys, values = self._heads(key, self.weight[self.embed_dim :], bias, 2)
            return keys, values
        _, key_weight, value_weight = self.weights()
        key_bias, value_bias = (None, None) if bias is None else bias.chunk(2)
        (keys,) = self._heads(key, key_weight, key_bias, 1)
        (values,) = self._heads(value, value_weight, value_bias, 1)
        return keys, values

    def _heads(
        self,
        x: Float[Tensor, "batch position dim"],
        weight: Float[Tensor, "out dim"],
        bias: Float[Tensor, " out"] | None,
        num_parts: int,
    ) -> list[Float[Tensor, "batch heads position head_dim"]]:
        batch, length, _ = x.shape
        head_dim = self.embed_dim // self.num_heads
        projected = F.linear(x, weight, bias)
        parts = projected.view(batch, length, num_parts, self.num_heads, head_dim).unbind(2)
        return [part.transpose(1, 2) for part in parts]

    def extra_repr(self) -> str:
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, widths={self.widths}, "
            f"bias={self.bias is not None}"
        )
