import torch


def scaled_dot_product_attention(q, k, v, block_mask=None):
    """block_mask: bool (B, Lq, Lk), True = may not be attended."""
    scores = torch.matmul(q, k.transpose(-2, -1)) / (q.shape[-1] ** 0.5)
    if block_mask is not None:
        scores = scores.masked_fill(block_mask, float("-inf"))
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, v), p_attn
