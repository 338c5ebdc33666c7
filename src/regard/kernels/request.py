"""What is asked of a kernel, in metadata alone: never a tensor's values."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Request:
    """One call of ``attend``, as far as the choice of a kernel may depend on it."""

    query_shape: tuple[int, ...]
    key_shape: tuple[int, ...]
    value_shape: tuple[int, ...]
    dtype: torch.dtype
    device: str
    score: str
    """Class name of the score, e.g. ``Additive``."""
    mask: str | None
    """Kind of the mask, e.g. ``lengths`` or ``lengths&causal``."""
    normalize: str = "softmax"
    has_bias: bool = False
    has_dropout: bool = False
    key_is_prepared: bool = False
    need_weights: bool = False
    need_lse: bool = False
    need_grad: bool = False
