import torch


def causal_attention(q, k, v):
    """Each position attends to itself and to what came before it."""
    T = q.size(-2)
    future = torch.triu(torch.ones(T, T, dtype=torch.bool, device=q.device), diagonal=1)
    att = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
    att = att.masked_fill(future, float("-inf"))
    att = torch.softmax(att, dim=-1)
    return att @ v, att
