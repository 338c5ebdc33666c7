"""Models of Hugging Face transformers, through the interface that they have for attention."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.kernels.watching import WATCHER
from regard.recording.recorder import Recorder

_NAME = "regard_recorded"


@contextmanager
def opened_transformers(model: nn.Module) -> Iterator[None]:
    """Let transformers' models compute attention in the open, and give them back theirs after.

    Those set to ``sdpa`` call torch's function, which is seen already; the others, ``eager`` among
    them, are set to an implementation of ours.
    """
    opened = [(part, kind) for part, kind in _transformers(model) if kind != "sdpa"]
    if opened:
        _register()
    try:
        for part, _ in opened:
            part.set_attn_implementation(_NAME)
        yield
    finally:
        for part, kind in opened:
            part.set_attn_implementation(kind)


def _transformers(model: nn.Module) -> list[tuple[Any, str]]:
    """The outermost of transformers' models in this one, and their implementations."""
    library = sys.modules.get("transformers")
    if library is None:
        return []
    found: list[tuple[str, Any]] = []
    for name, module in model.named_modules():
        if isinstance(module, library.PreTrainedModel) and not any(
            outer == "" or name.startswith(f"{outer}.") for outer, _ in found
        ):
            found.append((name, module))
    return [(module, module.config._attn_implementation) for _, module in found]


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(_NAME, _attention)
    AttentionMaskInterface.register(_NAME, eager_mask)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """Their eager attention: finite fills for what is hidden, weights in the query's dtype."""
    recorder = WATCHER.get()
    assert isinstance(recorder, Recorder)
    groups = query.shape[1] // key.shape[1]
    key, value = (part.repeat_interleave(groups, 1) for part in (key, value))
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = query @ key.mT * scaling
    visible = torch.ones_like(scores, dtype=torch.bool)
    if attention_mask is not None:
        added = attention_mask[..., : key.shape[-2]]
        scores = scores + added
        visible = visible & (added > torch.finfo(added.dtype).min)
    normalizer = partial(torch.softmax, dim=-1, dtype=torch.float32)
    weights = recorder.see(recorder.where(), scores, normalizer, value, visible).to(query.dtype)
    dropped = torch.dropout(weights, dropout, train=module.training)
    return (dropped @ value).transpose(1, 2).contiguous(), weights
