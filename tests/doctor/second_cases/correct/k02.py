import torch
from torch import nn


class PerHeadAttention(nn.Module):
    """One matrix per head and role instead of one large Linear. `blocked`: (batch, query, key),
    True where a query must not look."""

    def __init__(self, d_model, n_heads, d_k, d_v):
        super().__init__()
        self.P_q = nn.Parameter(torch.randn(n_heads, d_model, d_k) / d_model**0.5)
        self.P_k = nn.Parameter(torch.randn(n_heads, d_model, d_k) / d_model**0.5)
        self.P_v = nn.Parameter(torch.randn(n_heads, d_model, d_v) / d_model**0.5)
        self.P_o = nn.Parameter(torch.randn(n_heads, d_v, d_model) / (n_heads * d_v) ** 0.5)

    def forward(self, X, M, blocked=None):
        # X: (b, n, d) looks at M: (b, m, d)
        Q = torch.einsum("bnd,hdk->bhnk", X, self.P_q)
        K = torch.einsum("bmd,hdk->bhmk", M, self.P_k)
        V = torch.einsum("bmd,hdv->bhmv", M, self.P_v)
        logits = torch.einsum("bhnk,bhmk->bhnm", Q, K) / self.P_q.size(-1) ** 0.5
        if blocked is not None:
            bias = torch.zeros_like(blocked, dtype=logits.dtype)
            bias = bias.masked_fill(blocked, torch.finfo(logits.dtype).min)
            logits = torch.where(blocked.unsqueeze(1), bias.unsqueeze(1), logits)
        O = torch.einsum("bhnm,bhmv->bhnv", logits.softmax(3), V)
        return torch.einsum("bhnv,hvd->bnd", O, self.P_o)
