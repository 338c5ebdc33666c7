import math

import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    """query (B, Lq, d), key (B, Lk, d), value (B, Lk, dv); mask is False at hidden keys."""
    d_k = query.size(-1)
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = F.softmax(scores, dim=1)
    return torch.bmm(weights, value), weights
