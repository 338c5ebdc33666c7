"""torch's ``scaled_dot_product_attention`` and ``nn.MultiheadAttention``."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from benchmarks.peers.protocol import CannotBeAsked, Case, Found, answer_all, identity


def sdpa(case: Case, query: Tensor, memory: Tensor) -> Found:
    """True in its ``attn_mask`` means may attend; dropout is the caller's to switch off."""
    if case.need_weights:
        raise CannotBeAsked("it returns no weights")
    mask = case.keep_tensor() if case.mask is None else case.mask_tensor()
    mask = None if mask is None else mask[:, None, None]  # batch heads query key
    if case.causal in ("start", "end"):
        named = causal_upper_left if case.causal == "start" else causal_lower_right
        mask = named(query.shape[1], memory.shape[1])
    query, memory = query[:, None], memory[:, None]
    context = F.scaled_dot_product_attention(
        query,
        memory,
        memory,
        attn_mask=mask,
        dropout_p=case.dropout if case.train else 0.0,
        is_causal=case.causal == "flag",
    )
    return Found(context[:, 0])


def multi_head(case: Case, query: Tensor, memory: Tensor) -> Found:
    """True in ``key_padding_mask`` means hidden; ``is_causal`` is a hint beside an attn_mask."""
    if case.causal in ("start", "end"):
        raise CannotBeAsked("the caller builds the causal mask")
    layout = {} if case.default_layout else {"batch_first": True}
    layer = nn.MultiheadAttention(
        memory.shape[-1], case.num_heads, dropout=case.dropout, dtype=memory.dtype, **layout
    ).train(case.train)
    identity(*layer.in_proj_weight.chunk(3), layer.out_proj.weight)

    keep = case.keep_tensor()
    options = {} if case.need_weights is None else {"need_weights": case.need_weights}
    if case.causal:
        options["is_causal"] = True
        if query.shape[1] == memory.shape[1]:  # its documented mask for this is square
            ones = torch.ones(query.shape[1], memory.shape[1], dtype=torch.bool)
            options["attn_mask"] = ones.triu(diagonal=1)
    output, weights = layer(
        query,
        memory,
        memory,
        key_padding_mask=case.mask_tensor() if keep is None else ~keep,
        **options,
    )
    return Found(output, weights, layer.parameters())


if __name__ == "__main__":
    answer_all({"sdpa": sdpa, "multi_head": multi_head}, packages=("torch",))
