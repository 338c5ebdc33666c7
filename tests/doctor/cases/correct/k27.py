import torch
import torch.nn as nn


class MultiHeadAdditive(nn.Module):
    """Bahdanau's score in every head, v of its own for each."""

    def __init__(self, query_dim, key_dim, num_hiddens, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q = nn.Linear(query_dim, num_hiddens, bias=False)
        self.k = nn.Linear(key_dim, num_hiddens)
        self.val = nn.Linear(key_dim, num_hiddens)
        self.v = nn.Parameter(torch.randn(num_heads, num_hiddens // num_heads))

    def split(self, t):
        return t.reshape(t.shape[0], t.shape[1], self.num_heads, -1).transpose(1, 2)

    def forward(self, queries, keys):
        q, k = self.split(self.q(queries)), self.split(self.k(keys))
        val = self.split(self.val(keys))
        summed = torch.tanh(q[:, :, :, None] + k[:, :, None])  # (B, H, Q, K, d)
        weights = torch.einsum("bhqkd,hd->bhqk", summed, self.v).softmax(-1)
        context = (weights @ val).transpose(1, 2).flatten(2)
        return context, weights
