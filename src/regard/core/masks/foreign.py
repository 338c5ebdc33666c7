"""Masks as other libraries write them, each under the name of whose convention it is."""

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from regard.core.errors import dtype_text, shape_text
from regard.core.masks.checks import refuse_where
from regard.core.masks.dense import Dense
from regard.core.masks.mask import Mask
from regard.core.sizes import check_sizes


def from_attention_mask(ones_and_zeros: Shaped[Tensor, "..."]) -> Mask:
    """See :meth:`Mask.from_attention_mask`."""
    caller = "Mask.from_attention_mask"
    _check_tensor(ones_and_zeros, caller, "attention_mask")
    if ones_and_zeros.dim() != 2:
        raise ValueError(
            f"{caller}: shape {shape_text(ones_and_zeros.shape)}. It must be (batch, key), as a "
            "tokenizer returns it. Write attention_mask[None] for a single example; a mask that "
            "differs from query to query is Mask.dense(attention_mask == 1)."
        )
    refuse_where(
        (ones_and_zeros != 0) & (ones_and_zeros != 1),
        f"{caller}: a value is neither 0 nor 1.",
        lambda where: (
            f"{caller}: attention_mask{where} is {ones_and_zeros[tuple(where)].item()}, shape "
            f"{shape_text(ones_and_zeros.shape)}. Every value must be 1 (real) or 0 (padding). If "
            "0 means may attend and large negative numbers hide, write Mask.dense((attention_mask "
            "== 0)[:, None, :])."
        ),
    )
    return Dense((ones_and_zeros == 1)[:, None, :])


def from_torch(
    attn_mask: Shaped[Tensor, "..."] | None,
    key_padding_mask: Shaped[Tensor, "..."] | None,
    num_heads: int | None,
) -> Mask:
    """See :meth:`Mask.from_torch`."""
    masks = []
    if key_padding_mask is not None:
        may_attend = _not_hidden(key_padding_mask, "key_padding_mask")
        if may_attend.dim() not in (1, 2):
            raise ValueError(
                f"Mask.from_torch: key_padding_mask has shape {shape_text(may_attend.shape)}. It "
                "must be (batch, key), or (key,) for an unbatched call. Pass one that differs from "
                "query to query as attn_mask."
            )
        masks.append(Dense(may_attend[..., None, :]))
    if attn_mask is not None:
        masks.append(Dense(_with_heads(_not_hidden(attn_mask, "attn_mask"), num_heads)))
    if not masks:
        raise ValueError(
            "Mask.from_torch: attn_mask and key_padding_mask are both None. There is nothing to "
            "hide: pass may_attend=None instead of a Mask."
        )
    return masks[0] if len(masks) == 1 else masks[0] & masks[1]


def _with_heads(may_attend: Bool[Tensor, "..."], num_heads: int | None) -> Bool[Tensor, "..."]:
    shape = may_attend.shape
    if may_attend.dim() == 2:
        return may_attend[None]  # so that it cannot be read as (batch, key)
    given = f"Mask.from_torch: attn_mask has shape {shape_text(shape)}"
    if may_attend.dim() != 3:
        raise ValueError(
            f"{given}. It must be (query, key) or (batch * num_heads, query, key). Pass a bool "
            "mask of other axes, True meaning hidden, as Mask.dense(~attn_mask)."
        )
    if num_heads is None:
        raise ValueError(
            f"{given}, so its first axis is batch * num_heads, which cannot be told apart. Pass "
            "num_heads=."
        )
    check_sizes("Mask.from_torch", num_heads=num_heads)
    if shape[0] % num_heads:
        raise ValueError(
            f"{given} and num_heads={num_heads}. The first axis must be batch * num_heads, and "
            f"{shape[0]} is no multiple of {num_heads}. Pass the module's own num_heads."
        )
    return may_attend.reshape(shape[0] // num_heads, num_heads, *shape[1:])


def _not_hidden(foreign: Shaped[Tensor, "..."], name: str) -> Bool[Tensor, "..."]:
    _check_tensor(foreign, "Mask.from_torch", name)
    if foreign.dtype == torch.bool:
        return ~foreign
    if not foreign.is_floating_point():
        raise TypeError(
            f"Mask.from_torch: {name} has dtype {dtype_text(foreign.dtype)} and shape "
            f"{shape_text(foreign.shape)}. torch takes bool (True = hidden) or float (added to the "
            f"scores). Pass {name}.bool() if 1 means hidden."
        )
    refuse_where(
        (foreign != 0) & (foreign != -torch.inf),
        f"Mask.from_torch: a value of {name} is neither 0 nor -inf.",
        lambda where: (
            f"Mask.from_torch: {name}{where} is {foreign[tuple(where)].item()}, shape "
            f"{shape_text(foreign.shape)}. A float mask is added to the scores, and a Mask can "
            "only hide: 0 or -inf. Pass other numbers to attend as bias=; if they were meant to "
            f"hide, write {name}.bool() instead (True = hidden)."
        ),
    )
    return foreign == 0


def _check_tensor(given: object, caller: str, name: str) -> None:
    if not isinstance(given, Tensor):
        raise TypeError(
            f"{caller}: {name} is a {type(given).__name__}. It must be a torch tensor. Convert it "
            f"with torch.as_tensor({name})."
        )
