"""What multi-head attention refuses, in words."""

import torch
from torch import Tensor

from regard.core.axes import check_inputs
from regard.core.errors import dtype_text, shape_text, shapes_text
from regard.core.scores import Score, make_score
from regard.core.sizes import check_sizes

_CALLER = "MultiHeadAttention"


def check_heads(embed_dim: int, num_heads: int) -> None:
    """Each head gets an equal part of the width.

    Raises:
        ValueError: it cannot.
    """
    check_sizes(_CALLER, embed_dim=embed_dim, num_heads=num_heads)
    if embed_dim % num_heads:
        near = max(1, round(embed_dim / num_heads)) * num_heads
        raise ValueError(
            f"{_CALLER}: embed_dim={embed_dim} and num_heads={num_heads}. Each head is an equal "
            "part of embed_dim, so num_heads must divide it. "
            f"Take embed_dim={near}, for example; query_dim, key_dim and value_dim may stay "
            "as they are."
        )


def score_of_heads(score: str | Score, head_dim: int, num_heads: int) -> Score:
    """The score of this name with parameters for each head, or this score if it fits the heads.

    Raises:
        TypeError: neither a name nor a score.
        ValueError: an unknown name, or a score for other widths or another number of heads.
    """
    if isinstance(score, str):
        return make_score(score, query_dim=head_dim, key_dim=head_dim, num_heads=num_heads)
    if not isinstance(score, Score):
        raise TypeError(
            f"{_CALLER}: score is a {type(score).__name__}. It must be the name of a score or a "
            "Score. Write score='additive', for example."
        )
    fits = (
        score.query_dim in (None, head_dim)
        and score.key_dim in (None, head_dim)
        and score.num_heads in (None, num_heads)
    )
    if not fits:
        raise ValueError(
            f"{_CALLER}: score is {score!r}, for {num_heads} heads of width {head_dim}. A score "
            "compares what has been projected for one head, and has parameters for each head or "
            f"serves all. Build it with query_dim={head_dim}, key_dim={head_dim}, "
            f"num_heads={num_heads}."
        )
    return score


def check_inputs_of_heads(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    widths: tuple[int, int, int],
    dtype: torch.dtype,
) -> None:
    """Three axes each, equal batches, a value for each key, and the widths the layer is for.

    Raises:
        TypeError: not tensors, or of different dtypes.
        ValueError: shapes that do not fit.
    """
    given = ("query", query), ("key", key), ("value", value)
    for name, tensor in given:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{_CALLER}: {name} is a {type(tensor).__name__}. It must be a torch tensor "
                "(batch, position, dim). Self-attention is layer(x, x, x), and keys that are "
                "values too are given twice: layer(query, key, key)."
            )
    if not query.dim() == key.dim() == value.dim() == 3:
        raise ValueError(
            f"{_CALLER}: {shapes_text(**dict(given))}. All three must be (batch, position, dim). "
            "Give a single example as x[None], and a single decoder step as query[:, None]."
        )
    check_inputs(query, key.shape, key.dtype, key.device, value, caller=_CALLER)
    for (name, tensor), width in zip(given, widths, strict=True):
        if tensor.shape[-1] != width:
            raise ValueError(
                f"{_CALLER}: {name} {shape_text(tensor.shape)} has dim {tensor.shape[-1]}, but the "
                f"layer was built for {name}_dim={width}. Build it with "
                f"{name}_dim={tensor.shape[-1]}, or check the order: layer(query, key, value)."
            )
    if query.dtype != dtype and not torch.is_autocast_enabled(query.device.type):
        raise TypeError(
            f"{_CALLER}: query, key and value are {dtype_text(query.dtype)}, but the layer's "
            f"parameters are {dtype_text(dtype)}. They must have one dtype, unless torch.autocast "
            f"is on. Write layer.to(torch.{dtype_text(query.dtype)}), or convert the inputs."
        )
