"""torch's own attention, opened: calls of ``scaled_dot_product_attention`` and its multi-head."""

from __future__ import annotations

import math
from functools import partial
from types import FunctionType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard.core.normalizers import Normalizer, softmax
from regard.recording.recorder import Recorder


class TorchAttention(TorchFunctionMode):
    """While entered, torch's attention is computed in the open and shown to a recorder.

    A mode of torch's functions also keeps its layers off their fused fast path, in which nothing
    can be seen.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """As torch's; two functions are answered here."""
        if func is F.scaled_dot_product_attention:
            return _fused(self.recorder, softmax, *args, **(kwargs or {}))[0]
        if func is F.multi_head_attention_forward:
            return _multi_head(self.recorder, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _fused(
    recorder: Recorder,
    normalizer: Normalizer,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """torch's scaled_dot_product_attention by its definition, and the weights.

    Half precision is scored in float32.
    """
    given_value = value  # as it is in memory: that tells steps of one run from another run
    wide = torch.promote_types(query.dtype, torch.float32)
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query.to(wide) * scale) @ key.to(wide).mT
    if is_causal:
        causal = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~causal, -torch.inf)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = recorder.see(recorder.where(), scores, normalizer, given_value)
    dropped = torch.dropout(weights, dropout_p, train=True)
    return (dropped @ value.to(wide)).to(query.dtype), weights


def _multi_head(recorder: Recorder, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
    """torch's multi-head forward with its attention opened, and the weights of its recorded run.

    It is torch's own code: a copy of the function in which one name, that of the fused attention,
    means ours. It therefore never takes the branch that computes weights, whose answers we give.
    """
    need_weights, averaged = kwargs["need_weights"], kwargs["average_attn_weights"]
    if need_weights and kwargs["attn_mask"] is not None:
        kwargs["is_causal"] = False  # that branch reads the mask, and takes this for a hint
    # with weights asked for, torch gives NaN to a row with nothing to attend to
    normalizer = partial(torch.softmax, dim=-1) if need_weights else softmax
    seen: list[Tensor] = []

    def opened(*given: Any) -> Tensor:
        output, weights = _fused(recorder, normalizer, *given)
        seen.append(weights.to(output.dtype))
        return output

    theirs = F.multi_head_attention_forward
    names = {"scaled_dot_product_attention": opened}
    copied = FunctionType(
        theirs.__code__, theirs.__globals__ | names, theirs.__name__, theirs.__defaults__
    )
    output, _ = copied(*args, **(kwargs | {"need_weights": False}))
    if not need_weights:
        return output, None
    weights = seen[0].mean(1) if averaged else seen[0]
    return output, weights if args[0].dim() == 3 else weights[0]
