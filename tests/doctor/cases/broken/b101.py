import torch


def safe_attention(q, k, v, keep):
    """keep (B, Q, K) bool, True = visible. Queries that see nothing get zeros."""
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    scores = scores + torch.where(keep, 0.0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    weights = torch.where(torch.isnan(weights), 0.0, weights)
    return weights @ v
