import math

import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    """Attention of a small GPT."""

    def __init__(self, n_embd, n_head, dropout=0.1):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.attn_dropout = nn.Dropout(dropout)
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.c_attn(x).chunk(3, dim=-1)
        )
        wei = q @ k.transpose(-2, -1) / math.sqrt(C // self.n_head)
        wei = wei + torch.full((T, T), float("-inf"), device=x.device).triu(1)
        wei = self.attn_dropout(wei.softmax(dim=-1))
        return self.c_proj((wei @ v).transpose(1, 2).contiguous().view(B, T, C))
