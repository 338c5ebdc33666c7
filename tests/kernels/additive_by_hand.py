"""Additive attention of projected queries and keys in float64, as the formula stands in the paper.

All have a heads axis: (batch, heads, position, dim). Autograd through it gives the gradients.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Inputs(NamedTuple):
    query: Tensor
    key: Tensor
    value: Tensor
    v: Tensor

    def to(self, dtype: torch.dtype) -> "Inputs":
        """The same numbers, as new leaves."""
        return Inputs(*(tensor.detach().to(dtype).clone().requires_grad_() for tensor in self))


class Outputs(NamedTuple):
    context: Tensor
    weights: Tensor
    lse: Tensor


def make(
    batch: int = 2,
    heads: int = 1,
    query_len: int = 5,
    key_len: int = 33,
    dim: int = 6,
    value_dim: int = 7,
    *,
    dtype: torch.dtype = torch.float64,
    own_v: bool = False,
    seed: int = 0,
) -> Inputs:
    """Normally distributed; v has a norm of about 2, and with ``own_v`` each head has its own."""
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    v = 2 * dim**-0.5 * randn(*(heads,) if own_v else (), dim)
    lead = batch, heads
    query, key = randn(*lead, query_len, dim), randn(*lead, key_len, dim)
    return Inputs(query, key, randn(*lead, key_len, value_dim), v).to(dtype)


def by_hand(inputs: Inputs, allowed: Tensor | None = None, kept: Tensor | float = 1.0) -> Outputs:
    """tanh, v, exponentials of what is allowed over their sum; ``kept`` is what dropout makes."""
    query, key, value, v = (tensor.double() for tensor in inputs)
    inside = torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3))
    scores = torch.einsum("bhqkd,hd->bhqk", inside, v.expand(query.shape[1], -1))
    if allowed is None:
        allowed = torch.ones((), dtype=torch.bool)
    allowed = allowed.expand(scores.shape)
    empty = ~allowed.any(-1)
    top = scores.detach().masked_fill(~allowed, -torch.inf).amax(-1).masked_fill(empty, 0.0)
    powers = torch.exp((scores - top[..., None]).masked_fill(~allowed, -torch.inf))
    total = powers.sum(-1).masked_fill(empty, 1.0)
    weights = powers / total[..., None]
    lse = (total.log() + top).masked_fill(empty, -torch.inf)
    return Outputs((weights * kept) @ value, weights, lse)


def gradients(outputs: Outputs, leaves: Inputs, *, of: str = "context weights lse") -> list[Tensor]:
    """Of a loss in which every number of these outputs counts differently."""
    generator = torch.Generator().manual_seed(1)
    loss = torch.zeros((), dtype=torch.float64)
    for name in of.split():
        output = getattr(outputs, name).double()
        slope = torch.randn(output.shape, generator=generator, dtype=torch.float64)
        loss = loss + (output.masked_fill(output == -torch.inf, 0.0) * slope).sum()
    found = torch.autograd.grad(loss, list(leaves), allow_unused=True, retain_graph=True)
    return [
        torch.zeros_like(leaf) if grad is None else grad
        for leaf, grad in zip(leaves, found, strict=True)
    ]
