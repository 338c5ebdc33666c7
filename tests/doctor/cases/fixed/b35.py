import torch
import torch.nn.functional as F


def cached_attention(q, k, v):
    """q: the new positions (B, H, n, D); k, v: cache and new positions (B, H, m + n, D).

    Causal: the last query sees every key.
    """
    n, total = q.size(-2), k.size(-2)
    keep = torch.ones(n, total, dtype=torch.bool, device=q.device).tril(diagonal=total - n)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
