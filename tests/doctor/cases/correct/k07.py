import math

import torch
import torch.nn.functional as F


def masked_attention(q, k, v, lengths):
    """lengths (batch,): number of true keys in each sample, at least 1."""
    score = torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(k.size(2))
    pad = torch.arange(k.size(1), device=k.device).ge(lengths.unsqueeze(1))
    score.masked_fill_(pad.unsqueeze(1), -1e9)
    attn = F.softmax(score, 2)
    return attn, torch.bmm(attn, v)
