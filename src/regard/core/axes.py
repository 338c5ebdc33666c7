"""Which axes must agree: the checks at the border, and the one rule about dtypes.

Nothing is broadcast silently: a size-1 axis is stretched only where a docstring says so.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.core.errors import dtype_text, shape_text, shapes_text

_AXES = {2: "(position, dim)", 3: "(batch, position, dim)", 4: "(batch, heads, position, dim)"}
_HALF = (torch.float16, torch.bfloat16)
_DTYPES = (*_HALF, torch.float32, torch.float64)


def widen(tensor: Tensor) -> Tensor:
    """Half precision as float32; wider dtypes as they are."""
    return tensor.float() if tensor.dtype in _HALF else tensor


def check_inputs(
    query: Tensor,
    key_shape: Sequence[int],
    key_dtype: torch.dtype,
    key_device: torch.device,
    value: Tensor,
    *,
    caller: str = "attend",
) -> None:
    """Query, key and value must have as many axes, equal leading axes, one dtype and one device.

    Raises:
        TypeError: dtypes differ or are not floating point.
        ValueError: shapes do not fit, or devices differ.
    """
    ranks = (query.dim(), len(key_shape), value.dim())
    if not ranks[0] == ranks[1] == ranks[2] or ranks[0] not in _AXES:
        given = shapes_text(query=query, key=key_shape, value=value)
        raise ValueError(
            f"{caller}: {given} have {ranks[0]}, {ranks[1]} and {ranks[2]} axes. All three must be "
            f"{', '.join(_AXES.values())} alike. Give a single query as query.unsqueeze(-2)."
        )
    for axis, name in zip(range(query.dim() - 2), ("batch", "heads"), strict=False):
        sizes = (query.shape[axis], key_shape[axis], value.shape[axis])
        if not sizes[0] == sizes[1] == sizes[2]:
            given = shapes_text(query=query, key=key_shape, value=value)
            raise ValueError(
                f"{caller}: the {name} axis is {sizes[0]} in query, {sizes[1]} in key and "
                f"{sizes[2]} in value. {given}. Leading axes must be equal; write .expand(...) if "
                f"one is meant to serve all{_layout_hint(query, key_shape)}."
            )
    if key_shape[-2] != value.shape[-2]:
        given = shapes_text(query=query, key=key_shape, value=value)
        raise ValueError(
            f"{caller}: key has {key_shape[-2]} positions but value has {value.shape[-2]}. "
            f"{given}. Each key needs its value: give both the same positions, in the same order."
        )
    if not query.dtype == key_dtype == value.dtype or query.dtype not in _DTYPES:
        right = dtype_text(_widest(query.dtype, key_dtype, value.dtype))
        raise TypeError(
            f"{caller}: query is {dtype_text(query.dtype)}, key {dtype_text(key_dtype)}, value "
            f"{dtype_text(value.dtype)}. All three must have one floating-point dtype, of 16 bits "
            f"or more. Convert them with .to(torch.{right})."
        )
    if not query.device == key_device == value.device:
        raise ValueError(
            f"{caller}: query is on {query.device}, key on {key_device}, value on {value.device}. "
            f"All three must be on one device. Move them with .to({str(query.device)!r})."
        )


def check_widths(
    query_shape: Sequence[int],
    key_shape: Sequence[int],
    query_dim: int | None,
    key_dim: int | None,
    num_heads: int | None,
    *,
    score: str,
    caller: str = "attend",
) -> None:
    """Query and key must have equal leading axes, and the widths and heads the score was built for.

    Raises:
        ValueError: they do not.
    """
    if tuple(query_shape[:-2]) != tuple(key_shape[:-2]):
        given = shapes_text(query=query_shape, key=key_shape)
        raise ValueError(
            f"{caller}: the axes before (position, dim) are {shape_text(query_shape[:-2])} in "
            f"query and {shape_text(key_shape[:-2])} in key. {given}. They must be equal; write "
            ".expand(...) if one is meant to serve all."
        )
    if query_dim is None and query_shape[-1] != key_shape[-1]:
        given = shapes_text(query=query_shape, key=key_shape)
        raise ValueError(
            f"{caller}: query has dim {query_shape[-1]} but key has dim {key_shape[-1]}, and "
            f"{score} needs them equal. {given}. Project both to the same width, or use "
            f"scores.Bilinear(query_dim={query_shape[-1]}, key_dim={key_shape[-1]})."
        )
    for name, shape, dim in (("query", query_shape, query_dim), ("key", key_shape, key_dim)):
        if dim is not None and shape[-1] != dim:
            given = shapes_text(query=query_shape, key=key_shape)
            raise ValueError(
                f"{caller}: {name} has dim {shape[-1]} but {score} was built with "
                f"{name}_dim={dim}. {given}. Build the score with {name}_dim={shape[-1]}, or check "
                "that query and key are not swapped."
            )
    if num_heads is not None and (len(query_shape) != 4 or query_shape[1] != num_heads):
        given = shapes_text(query=query_shape, key=key_shape)
        raise ValueError(
            f"{caller}: {score} has parameters for {num_heads} heads. {given}. Give tensors "
            f"(batch, {num_heads}, position, dim), or build the score without num_heads."
        )


def check_key(key: object, key_dim: int | None, num_heads: int | None, *, score: str) -> None:
    """Keys to prepare must have the width, and the heads, that the score was built for.

    Raises:
        TypeError: not a tensor, or not floating point.
        ValueError: they do not.
    """
    if not isinstance(key, Tensor):
        raise TypeError(
            f"prepare: key is a {type(key).__name__}. It must be a torch tensor. Convert it with "
            "torch.as_tensor(key)."
        )
    key_shape, given = key.shape, "prepare: key " + shape_text(key.shape)
    if key.dtype not in _DTYPES:
        raise TypeError(
            f"{given} is {dtype_text(key.dtype)}. It must have a floating-point dtype of 16 bits "
            "or more, the query's own. Convert it with .to(query.dtype)."
        )
    if len(key_shape) not in _AXES:
        raise ValueError(
            f"{given} has {len(key_shape)} axes. It must be {' or '.join(_AXES.values())}. "
            "Give a single key as key.unsqueeze(-2)."
        )
    if key_dim is not None and key_shape[-1] != key_dim:
        raise ValueError(
            f"{given} has dim {key_shape[-1]} but {score} was built with key_dim={key_dim}. Build "
            f"the score with key_dim={key_shape[-1]}, or check that these are keys and not queries."
        )
    if num_heads is not None and (len(key_shape) != 4 or key_shape[1] != num_heads):
        raise ValueError(
            f"{given}, but {score} has parameters for {num_heads} heads. Give a tensor "
            f"(batch, {num_heads}, position, dim), or build the score without num_heads."
        )


def check_bias(bias: Tensor, scores_shape: Sequence[int]) -> Tensor:
    """The bias with as many axes as the scores.

    It has shape ``(query, key)``, ``(batch, query, key)`` or ``(batch, heads, query, key)``; its
    batch, heads and query axes may be 1 and then serve all.

    Raises:
        TypeError: it is not floating point.
        ValueError: it does not fit.
    """
    if not bias.is_floating_point():
        raise TypeError(
            f"attend: bias has dtype {dtype_text(bias.dtype)}, shape {shape_text(bias.shape)}. "
            "A bias is added to the scores, so it must be a float tensor. To hide positions pass "
            "may_attend=."
        )
    right = tuple(scores_shape)
    own = tuple(bias.shape)
    if len(right) == 4 and len(own) == 3:
        own = (own[0], 1, *own[1:])  # (batch, query, key), never (heads, query, key)
    if 2 <= len(own) < len(right):
        own = (1,) * (len(right) - len(own)) + own
    fits = len(own) == len(right) and all(
        size == needed or (size == 1 and axis < len(right) - 1)
        for axis, (size, needed) in enumerate(zip(own, right, strict=True))
    )
    ambiguous = bias.dim() == 2 and len(right) > 2 and own[-2] == right[0] > 1
    if not fits or ambiguous:
        raise ValueError(
            f"attend: bias {shape_text(bias.shape)} does not fit scores {shape_text(right)} in "
            "exactly one way. Give (batch, heads, query, key) or (batch, query, key), with size 1 "
            "where it serves all: bias[None] for one table of (query, key)."
        )
    return bias.reshape(own)


def _layout_hint(query: Tensor, key_shape: Sequence[int]) -> str:
    if query.dim() == 3 and query.shape[1] == key_shape[1] and query.shape[0] != key_shape[0]:
        return " (or .transpose(0, 1) if these are length-first: here the batch comes first)"
    return ""


def _widest(*dtypes: torch.dtype) -> torch.dtype:
    if any(dtype not in _DTYPES for dtype in dtypes):
        return torch.float32
    widest = dtypes[0]
    for dtype in dtypes[1:]:
        widest = torch.promote_types(widest, dtype)
    return widest
