import torch
import torch.nn.functional as F
from torch import nn


class GroupedQueryAttention(nn.Module):
    """Causal self-attention in which n_heads // n_kv_heads neighbouring query heads share one
    key-value head: with 8 and 2, heads 0-3 read kv head 0 and heads 4-7 read kv head 1."""

    def __init__(self, dim: int, n_heads: int, n_kv_heads: int):
        super().__init__()
        assert n_heads % n_kv_heads == 0
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.n_rep = n_heads // n_kv_heads
        self.head_dim = dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(n_heads * self.head_dim, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bsz, seqlen, _ = x.shape
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)

        xq = xq.view(bsz, seqlen, self.n_heads, self.head_dim).transpose(1, 2)
        xk = xk.view(bsz, seqlen, self.n_kv_heads, self.head_dim).transpose(1, 2)
        xv = xv.view(bsz, seqlen, self.n_kv_heads, self.head_dim).transpose(1, 2)

        # repeat k/v heads if n_kv_heads < n_heads
        keys = xk.repeat(1, self.n_rep, 1, 1)
        values = xv.repeat(1, self.n_rep, 1, 1)

        scores = torch.matmul(xq, keys.transpose(2, 3)) / self.head_dim**0.5
        causal = torch.full((seqlen, seqlen), float("-inf"), device=x.device).triu(1)
        scores = F.softmax(scores + causal, dim=-1)
        output = torch.matmul(scores, values)
        output = output.transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.wo(output)
