import math

import torch


def attention_with_mask(query, key, value, mask=None, dropout=None):
    "Compute scaled dot product attention; mask is 0 at positions to leave out"
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    p = torch.softmax(scores, dim=-1)
    if mask is not None:
        p = p.masked_fill(mask == 0, 0.0)
    if dropout is not None:
        p = dropout(p)
    return torch.matmul(p, value), p
