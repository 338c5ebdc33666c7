"""The score that compares nothing: what attention has to beat."""

from jaxtyping import Float
from torch import Tensor

from regard.core.scores.score import Score, check_parameter_sizes


class Uniform(Score):
    r"""``score(q, k) = 0``: every key that may be attended to weighs the same, a plain average.

    A model trained with it says how much of a result owes nothing to where attention looks
    (Wiegreffe & Pinter 2019, arXiv:1908.04626, section 3.1).

    Args:
        query_dim, key_dim: widths of query and key; they may differ.

    Raises:
        ValueError: a width below 1.

    >>> import torch
    >>> Uniform(query_dim=4, key_dim=5)(torch.ones(1, 2, 4), torch.randn(1, 3, 5))
    tensor([[[0., 0., 0.],
             [0., 0., 0.]]])
    """

    def __init__(self, *, query_dim: int, key_dim: int) -> None:
        super().__init__()
        check_parameter_sizes(self, None, query_dim=query_dim, key_dim=key_dim)
        self.query_dim, self.key_dim = query_dim, key_dim

    def project_query(self, query: Float[Tensor, "*lead query query_dim"]) -> Tensor:
        """No channel of it."""
        return query[..., :0]

    def project_key(self, key: Float[Tensor, "*lead key key_dim"]) -> Tensor:
        """No channel of it."""
        return key[..., :0]

    def compare(
        self, query: Float[Tensor, "*lead query dim"], key: Float[Tensor, "*lead key dim"]
    ) -> Float[Tensor, "*lead query key"]:
        """The product of no channels: 0."""
        return query @ key.mT

    def extra_repr(self) -> str:
        return f"query_dim={self.query_dim}, key_dim={self.key_dim}"
