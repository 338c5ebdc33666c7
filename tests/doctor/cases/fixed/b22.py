import torch
import torch.nn.functional as F


def multihead_scores(q, k, v):
    # q, k, v: (batch, heads, length, head_dim)
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    attn = F.softmax(scores, dim=-1)
    out = torch.einsum("bhqk,bhkd->bhqd", attn, v)
    return out, attn
