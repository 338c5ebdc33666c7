import torch


def lookup(query, key, value):
    """query (B, 1, d): one decoder state; key (B, T, d); value (B, T, dv)"""
    d = query.size(-1)
    scores = torch.sum(key * key, dim=-1) / d**0.5  # (B, T)
    weights = torch.softmax(scores, dim=-1).unsqueeze(1)
    return weights @ value, weights
