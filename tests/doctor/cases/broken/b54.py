import torch


def grouped_query_attention(q, k, v):
    """q (B, n_heads, T, D); k, v (B, n_kv_heads, S, D). Consecutive query heads share a kv head."""
    groups = q.shape[1] // k.shape[1]
    k = k.repeat(1, groups, 1, 1)
    v = v.repeat(1, groups, 1, 1)
    att = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1)
    return att @ v, att
