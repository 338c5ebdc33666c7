"""Inputs to attend with a different size on every axis, and the float64 oracle to compare with.

The oracle is `regard.reference`, looped over examples, heads and queries.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard import reference, scores
from regard.core.masks import Mask
from regard.core.scores import Score


class Sizes(NamedTuple):
    batch: int = 2
    heads: int | None = None
    query_len: int = 4
    key_len: int = 5
    query_dim: int = 6
    key_dim: int = 7
    value_dim: int = 8
    attn_dim: int = 9


DIFFERENT = Sizes()

Build = Callable[[Sizes, int | None], Score]
SCORES: dict[str, Build] = {
    "dot": lambda s, h: scores.Dot(),
    "uniform": lambda s, h: scores.Uniform(query_dim=s.query_dim, key_dim=s.key_dim),
    "scaled_dot": lambda s, h: scores.ScaledDot(),
    "scaled_dot with a scale": lambda s, h: scores.ScaledDot(scale=0.3),
    "general": lambda s, h: scores.Bilinear(query_dim=s.query_dim, key_dim=s.key_dim, num_heads=h),
    "additive": lambda s, h: _additive(s, h),
    "additive with bias": lambda s, h: _additive(s, h, bias=True),
    "additive normalized": lambda s, h: _additive(s, h, normalized=True),
    "concat": lambda s, h: scores.Concat(
        query_dim=s.query_dim, key_dim=s.key_dim, attn_dim=s.attn_dim, num_heads=h
    ),
}
OF_EQUAL_WIDTHS = ("dot", "scaled_dot", "scaled_dot with a scale")


def _additive(sizes: Sizes, heads: int | None, **options: bool) -> Score:
    return scores.Additive(
        query_dim=sizes.query_dim,
        key_dim=sizes.key_dim,
        attn_dim=sizes.attn_dim,
        num_heads=heads,
        **options,
    )


class Case(NamedTuple):
    """What `attend` takes, every tensor and parameter requiring a gradient."""

    query: Tensor
    key: Tensor
    value: Tensor
    score: Score

    def with_(self, **changes: Any) -> "Case":
        return self._replace(**changes)

    @property
    def leaves(self) -> list[Tensor]:
        return [self.query, self.key, self.value, *self.score.parameters()]


def make_case(
    name: str,
    sizes: Sizes = DIFFERENT,
    *,
    dtype: torch.dtype = torch.float64,
    own_heads: bool = False,
    seed: int = 0,
) -> Case:
    """A case for the score of this name; with ``own_heads`` each head has its own parameters."""
    if name in OF_EQUAL_WIDTHS:
        sizes = sizes._replace(query_dim=sizes.key_dim)
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    score = SCORES[name](sizes, sizes.heads if own_heads else None).to(dtype)
    with torch.no_grad():
        for parameter in score.parameters():
            parameter.copy_(randn(*parameter.shape) * 0.5)
    lead = (sizes.batch,) if sizes.heads is None else (sizes.batch, sizes.heads)
    return Case(
        randn(*lead, sizes.query_len, sizes.query_dim).requires_grad_(),
        randn(*lead, sizes.key_len, sizes.key_dim).requires_grad_(),
        randn(*lead, sizes.key_len, sizes.value_dim).requires_grad_(),
        score,
    )


def oracle(case: Case, may_attend: Mask | None = None) -> tuple[Tensor, Tensor]:
    """Context and weights in float64, one example, head and query at a time."""
    query, key, value = (_four_axes(t) for t in case[:3])
    batch, heads, query_len, _ = query.shape
    allowed = np.ones((batch, heads, query_len, key.shape[2]), dtype=bool)
    if may_attend is not None:
        grid = may_attend.dense_for(query_len, key.shape[2]).numpy()
        allowed &= grid[:, None] if grid.ndim == 3 else grid

    weights = np.zeros(allowed.shape)
    for b, h, q in product(range(batch), range(heads), range(query_len)):
        _, weights[b, h, q] = one_query(case.score, h, query[b, h, q], key[b, h], allowed[b, h, q])
    context = weights @ value
    as_given = case.query.shape[:-1]
    return (
        torch.from_numpy(context).reshape(*as_given, value.shape[-1]),
        torch.from_numpy(weights).reshape(*as_given, key.shape[-2]),
    )


def one_query(
    score: Score, head: int, query: np.ndarray, key: np.ndarray, may_attend: np.ndarray
) -> reference.Attended:
    """What `regard.reference` makes of one query, with the parameters of one head."""
    parameters = {
        name: p.detach().double().numpy()[head] if score.num_heads else p.detach().double().numpy()
        for name, p in score.named_parameters()
    }
    allowed = {"may_attend": may_attend}
    match score:
        case scores.ScaledDot(scale=None):
            return reference.scaled_dot_attention(query, key, key, **allowed)
        case scores.ScaledDot(scale=scale):
            return reference.dot_attention(query * scale, key, **allowed)
        case scores.Dot():
            return reference.dot_attention(query, key, **allowed)
        case scores.Uniform():  # the dot product of zeros
            nothing = np.zeros((len(key), 1))
            return reference.dot_attention(nothing[0], nothing, **allowed)
        case scores.Bilinear():
            return reference.general_attention(query, key, parameters["weight"], **allowed)
        case scores.Concat():
            return reference.concat_attention(
                query, key, parameters["weight"], parameters["v"], **allowed
            )
        case scores.Additive():
            w, v = parameters["query_weight"], parameters["v"]
            if score.normalized:
                v = parameters["g"] * v / np.sqrt((v**2).sum())
            if score.bias is not None:  # a weight on a query that always holds a 1 more
                w = np.concatenate([w, parameters["bias"][:, None]], axis=1)
                query = np.append(query, 1.0)
            return reference.additive_attention(
                query, key, w, parameters["key_weight"], v, **allowed
            )
    raise NotImplementedError(type(score).__name__)


def _four_axes(tensor: Tensor) -> np.ndarray:
    array = tensor.detach().double().numpy()
    if array.ndim == 2:
        array = array[None]
    return array[:, None] if array.ndim == 3 else array


def gradients(
    loss: Tensor,
    leaves: list[Tensor],
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> Iterator[Tensor]:
    """Gradients of a loss, zeros where it does not depend on a leaf."""
    found: Iterable[Tensor | None] = [None] * len(leaves)
    if loss.requires_grad:
        found = torch.autograd.grad(
            loss,
            leaves,
            allow_unused=True,
            create_graph=create_graph,
            retain_graph=retain_graph,
        )
    for leaf, gradient in zip(leaves, found, strict=True):
        yield torch.zeros_like(leaf) if gradient is None else gradient
