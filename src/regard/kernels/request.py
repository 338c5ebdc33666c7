"""What is asked of a kernel, in metadata alone: never a tensor's values."""

import math
from typing import NamedTuple

import torch

from regard.core import scores as _ours
from regard.core.scores import Score


class Request(NamedTuple):
    """One call of ``attend``, as far as the choice of a kernel may depend on it."""

    query_shape: tuple[int, ...]
    key_shape: tuple[int, ...]
    value_shape: tuple[int, ...]
    dtype: torch.dtype
    device: str
    score: str
    """What :func:`score_kind` calls the score, e.g. ``Additive``."""
    mask: str | None
    """Kind of the mask, e.g. ``lengths`` or ``lengths&causal``."""
    attn_dim: int | None = None
    """Width inside the score, if it has one."""
    normalize: str = "softmax"
    has_bias: bool = False
    has_dropout: bool = False
    key_is_prepared: bool = False
    need_weights: bool = False
    need_lse: bool = False
    need_grad: bool = False
    is_transformed: bool = False
    """Within a transform of ``torch.func``, or forward-mode differentiation."""
    is_only_vmapped: bool = False
    """And each of these transforms is ``torch.vmap``."""

    @property
    def num_pairs(self) -> int:
        """Of queries and keys."""
        return math.prod(self.query_shape[:-1]) * self.key_shape[-2]

    @property
    def num_elements(self) -> int:
        """Of (query, key, channel)s, inside a score that compares by channels."""
        return self.num_pairs * (self.attn_dim or self.key_shape[-1])


def score_kind(score: Score) -> str:
    """``Dot`` for a :class:`regard.scores.Dot`; ``module.Dot`` for anybody else's of that name.

    A subclass may compare in another way, so it never passes for what it is made from. Nor does a
    score with hooks, which kernels would not call.
    """
    kind = type(score)
    if has_hooks(score):
        return f"{kind.__name__} with hooks"
    if getattr(_ours, kind.__name__, None) is kind:
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"


def has_hooks(score: Score) -> bool:
    """Whether calling it does what no one does who only projects and compares."""
    return bool(
        score._forward_pre_hooks
        or score._forward_hooks
        or score._backward_pre_hooks
        or score._backward_hooks
    )
