import torch


def attention(query, key, value, block=None):
    """block: (B, Lq, Lk), True where attention is not allowed"""
    query = query / query.size(-1) ** 0.5
    scores = query @ key.mT
    if block is not None:
        scores.masked_fill_(block, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value
