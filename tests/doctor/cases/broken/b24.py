import torch
from torch.nn import functional as F


def attn(queries, keys, values, mask):
    """Dot-product attention.

    mask: bool tensor (batch, num_queries, num_keys); True for pairs that take part.
    """
    d = queries.shape[-1]
    scores = torch.bmm(queries, keys.transpose(1, 2)) / d**0.5
    scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    return torch.bmm(F.softmax(scores, dim=-1), values)
