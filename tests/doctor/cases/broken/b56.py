import torch
import torch.nn.functional as F


def attention_with_weights(q, k, v, attn_mask=None):
    """Like F.scaled_dot_product_attention (bool mask, True = takes part), plus the weights."""
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)
    with torch.no_grad():
        scores = (q @ k.transpose(-2, -1)) * q.size(-1) ** -0.5
        weights = scores.softmax(dim=-1)
    return out, weights
