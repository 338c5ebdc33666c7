import torch


def attention(q, k, v, keep):
    """keep: float (B, 1, S) of ones and zeros"""
    bias = torch.zeros_like(keep).masked_fill(keep == 0, float("-inf"))
    scores = torch.einsum("bld,bsd->bls", q, k) / q.shape[-1] ** 0.5 + bias
    weights = scores.softmax(-1)
    return torch.einsum("bls,bsv->blv", weights, v), weights
