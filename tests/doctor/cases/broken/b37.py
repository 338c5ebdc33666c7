import torch


def attention(q, k, v):
    """softmax(q k^T / sqrt(d_k)) v"""
    d_k = q.size(-1)
    scores = torch.matmul(q, k.transpose(-2, -1)) / d_k**-0.5
    weights = scores.softmax(dim=-1)
    return weights @ v, weights
