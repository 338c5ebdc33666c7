import torch


def attention(query, key, value):
    """query (B, H, Lq, d), key (B, H, Lk, d), value (B, H, Lk, dv)"""
    q = query * query.size(-1) ** -0.25
    k = key * key.size(-1) ** -0.25
    weights = torch.softmax(q @ k.mT, dim=-1)
    return weights @ value, weights
