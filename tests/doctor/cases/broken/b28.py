import torch


def attend_heads(q, k, v, keep_mask):
    """q, k, v: (B, H, L, D). keep_mask: (B, L, S), True = attend."""
    scores = (q @ k.transpose(2, 3)) * (q.size(3) ** -0.5)
    scores = torch.where(keep_mask, scores, torch.full_like(scores, float("-inf")))
    probs = torch.softmax(scores, 3)
    return probs @ v, probs
