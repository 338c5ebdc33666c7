import math

import torch
from torch import nn


class DotProductAttention(nn.Module):
    """Scaled dot product attention."""

    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        d = queries.shape[-1]
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d)
        if valid_lens is not None:
            pos = torch.arange(scores.size(2), device=scores.device)
            scores = scores.masked_fill(pos[None, None] >= valid_lens[:, None, None], -1e9)
        self.attention_weights = torch.softmax(scores, dim=-1)
        return torch.bmm(self.dropout(self.attention_weights), values)
