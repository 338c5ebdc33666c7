import torch


def attention(queries, keys, values, lengths):
    """Scaled dot attention with key lengths (B,); 0 means nothing to attend to (zeros)."""
    scores = torch.einsum("bqd,bkd->bqk", queries, keys) * queries.size(-1) ** -0.5
    outside = torch.arange(keys.size(1), device=keys.device) >= lengths[:, None]
    scores = scores.masked_fill(outside[:, None, :], float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights
