import torch
import torch.nn as nn


class ReluAttention(nn.Module):
    """Show, attend and tell style attention: score = v . relu(W q + U k), relu on purpose."""

    def __init__(self, query_dim, key_dim, attn_dim):
        super().__init__()
        self.query = nn.Linear(query_dim, attn_dim)
        self.key = nn.Linear(key_dim, attn_dim)
        self.v = nn.Parameter(torch.randn(attn_dim) / attn_dim**0.5)

    def forward(self, hidden, features):
        e = torch.relu(self.query(hidden).unsqueeze(1) + self.key(features)) @ self.v
        alpha = torch.softmax(e, dim=1)
        return torch.einsum("bt,btd->bd", alpha, features), alpha
