import torch.nn.functional as F


def self_attend(x, padding_mask):
    """x: (B, T, C). padding_mask: (B, T) bool, True marks <pad>."""
    attn_mask = ~padding_mask[:, None, :]
    return F.scaled_dot_product_attention(x, x, x, attn_mask=attn_mask)
