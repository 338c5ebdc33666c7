import math
from typing import NamedTuple, Optional

import torch
from torch import nn, Tensor


class AttnOutput(NamedTuple):
    context: Tensor
    probs: Tensor


class Attender(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, value_dim: int, num_heads: int, d_head: int):
        super().__init__()
        self.num_heads, self.d_head = num_heads, d_head
        self.wq = nn.Linear(query_dim, num_heads * d_head)
        self.wk = nn.Linear(key_dim, num_heads * d_head)
        self.wv = nn.Linear(value_dim, num_heads * d_head)

    def shape(self, t: Tensor) -> Tensor:
        return t.view(t.size(0), t.size(1), self.num_heads, self.d_head).permute(0, 2, 1, 3)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, valid: Optional[Tensor] = None
    ) -> AttnOutput:
        """valid: bool, (batch, key_len), True for a position that exists"""
        q, k, v = self.shape(self.wq(query)), self.shape(self.wk(key)), self.shape(self.wv(value))
        logits = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.d_head)
        if valid is not None:
            logits = logits.masked_fill(~valid[:, None, None], torch.finfo(logits.dtype).min)
        probs = logits.softmax(-1)  # b h q k
        context = torch.einsum("bhqk,bhkd->bqhd", probs, v).flatten(2)
        return AttnOutput(context, probs)
