import math

import torch
import torch.nn.functional as F


def masked_self_attention(query, key, value):
    """Decoder self-attention, no peeking ahead."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    mask = torch.tril(torch.ones_like(scores))
    scores = scores.masked_fill(mask == 1, -1e9)
    return torch.matmul(F.softmax(scores, dim=-1), value)
