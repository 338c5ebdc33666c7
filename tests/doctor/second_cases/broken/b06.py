from __future__ import annotations

import torch
from torch import Tensor


def incremental_attention(q_new: Tensor, k_all: Tensor, v_all: Tensor) -> Tensor:
    """Causal attention of the newest positions, for decoding in chunks.

    Args:
        q_new: queries of the last ``n_new`` positions, ``(batch, heads, n_new, d)``.
        k_all: keys of all positions so far, the newest included, ``(batch, heads, n_all, d)``.
        v_all: their values.

    Returns:
        ``(batch, heads, n_new, d)``, equal to the last rows of the full causal pass.
    """
    n_new, n_all = q_new.size(-2), k_all.size(-2)
    scores = (q_new * q_new.size(-1) ** -0.5) @ k_all.transpose(-2, -1)
    visible = torch.ones(n_new, n_all, dtype=torch.bool, device=q_new.device).tril()
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) @ v_all
