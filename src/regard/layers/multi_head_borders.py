"""What multi-head attention refuses, in words."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.core.axes import check_inputs
from regard.core.errors import dtype_text, shape_text, shapes_text
from regard.core.scores import Score, make_score
from regard.core.sizes import check_sizes
from regard.layers.prepared_key_value import PreparedKeyValue

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
    value: Tensor | None,
    *,
    widths: tuple[int, int, int],
    dtype: torch.dtype,
) -> None:
    """Three axes each, equal batches, a value for each key, and the widths the layer is for.

    Raises:
        TypeError: not tensors, or of different dtypes.
        ValueError: shapes that do not fit.
    """
    _check_tensors(query=query, key=key, value=value)
    assert value is not None
    given = {"query": query, "key": key, "value": value}
    if not query.dim() == key.dim() == value.dim() == 3:
        raise ValueError(
            f"{_CALLER}: {shapes_text(**given)}. All three must be (batch, position, dim). "
            "Give a single example as x[None], and a single decoder step as query[:, None]."
        )
    check_inputs(query, key.shape, key.dtype, key.device, value, caller=_CALLER)
    _check_widths(given, widths)
    _check_dtype("query, key and value are", query, dtype)


def check_keys_and_values(
    key: Tensor, value: Tensor, *, widths: tuple[int, int, int], dtype: torch.dtype
) -> None:
    """What :func:`check_inputs_of_heads` asks, of keys and values whose queries are not known yet.

    Raises:
        TypeError: not tensors, or of different dtypes.
        ValueError: shapes that do not fit.
    """
    _check_tensors(key=key, value=value)
    given = {"key": key, "value": value}
    if not key.dim() == value.dim() == 3 or key.shape[:2] != value.shape[:2]:
        raise ValueError(
            f"{_CALLER}.prepare: {shapes_text(**given)}. Both must be (batch, position, dim), "
            "and each key needs its value. Give both the same examples and positions, and a "
            "single decoder step as x[:, None]."
        )
    if key.dtype != value.dtype or key.device != value.device:
        raise TypeError(
            f"{_CALLER}.prepare: key is {dtype_text(key.dtype)} on {key.device}, value "
            f"{dtype_text(value.dtype)} on {value.device}. They must have one dtype and one "
            "device. Write value.to(key)."
        )
    _check_widths(given, widths[1:])
    _check_dtype("key and value are", key, dtype)


def check_query_of_prepared(
    query: object,
    prepared: PreparedKeyValue,
    value: object,
    *,
    layer: nn.Module,
    query_dim: int,
    dtype: torch.dtype,
) -> None:
    """A query for keys and values that this layer prepared.

    Raises:
        TypeError: not a tensor, of another dtype, or values given once more.
        ValueError: shapes that do not fit, or another layer prepared the keys.
    """
    if value is not None:
        raise TypeError(
            f"{_CALLER}: value is a {type(value).__name__}, but key was prepared together with its "
            "values. They are used as they are. Write layer(query, prepared)."
        )
    if prepared.layer is not layer:
        raise ValueError(
            f"{_CALLER}: key was prepared by another layer. Each layer projects keys and values "
            "with its own weights. Prepare them with this one: layer.prepare(key, value)."
        )
    if not isinstance(query, Tensor):
        raise TypeError(
            f"{_CALLER}: query is a {type(query).__name__}. It must be a torch tensor "
            "(batch, position, dim). Convert it with torch.as_tensor(query)."
        )
    given = f"{_CALLER}: query {shape_text(query.shape)}"
    if query.dim() != 3:
        raise ValueError(
            f"{given} has {query.dim()} axes. It must be (batch, position, dim). Give a single "
            "example as x[None], and a single decoder step as query[:, None]."
        )
    if query.shape[0] != prepared.num_examples:
        raise ValueError(
            f"{given} has a batch of {query.shape[0]}, but keys and values were prepared for "
            f"{prepared.num_examples}. Each example has its own: no axis is stretched silently. "
            "Take those of the query's examples with prepared.index_select(rows)."
        )
    if query.shape[-1] != query_dim:
        raise ValueError(
            f"{given} has dim {query.shape[-1]}, but the layer was built for "
            f"query_dim={query_dim}. Build it with query_dim={query.shape[-1]}."
        )
    if query.device != prepared.value.device:
        raise ValueError(
            f"{given} is on {query.device}, keys and values on {prepared.value.device}. All must "
            f"be on one device. Move it with .to({str(prepared.value.device)!r})."
        )
    _check_dtype("query is", query, dtype)


def _check_tensors(**given: object) -> None:
    for name, tensor in given.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{_CALLER}: {name} is a {type(tensor).__name__}. It must be a torch tensor "
                "(batch, position, dim). Self-attention is layer(x, x, x), and keys that are "
                "values too are given twice: layer(query, key, key)."
            )


def _check_widths(given: dict[str, Tensor], widths: Sequence[int]) -> None:
    for (name, tensor), width in zip(given.items(), widths, strict=True):
        if tensor.shape[-1] != width:
            raise ValueError(
                f"{_CALLER}: {name} {shape_text(tensor.shape)} has dim {tensor.shape[-1]}, but the "
                f"layer was built for {name}_dim={width}. Build it with "
                f"{name}_dim={tensor.shape[-1]}, or check the order: layer(query, key, value)."
            )


def _check_dtype(what: str, query: Tensor, dtype: torch.dtype) -> None:
    if query.dtype != dtype and not torch.is_autocast_enabled(query.device.type):
        raise TypeError(
            f"{_CALLER}: {what} {dtype_text(query.dtype)}, but the layer's "
            f"parameters are {dtype_text(dtype)}. They must have one dtype, unless torch.autocast "
            f"is on. Write layer.to(torch.{dtype_text(query.dtype)}), or convert the inputs."
        )
