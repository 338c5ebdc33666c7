import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    """Self-attention with one Linear whose rows are all of q, then all of k, then all of v."""

    def __init__(self, dim, n_head):
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, T, C = x.shape
        d = C // self.n_head
        qkv = self.qkv(x).view(B, self.n_head, T, 3 * d)
        q, k, v = qkv.chunk(3, dim=-1)
        att = (q @ k.transpose(-2, -1)) / d**0.5
        att = torch.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).reshape(B, T, C)
        return self.proj(y)
