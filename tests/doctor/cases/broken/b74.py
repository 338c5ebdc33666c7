import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, dropout=0.1):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.drop = nn.Dropout(dropout)
        self.scale = dim**-0.5

    def forward(self, x, memory):
        scores = self.scale * self.q(x) @ self.k(memory).transpose(1, 2)
        weights = scores.softmax(dim=-1)
        weights = self.drop(weights)
        out = weights @ self.v(memory)
        return out, weights  # the alignment, each row a distribution
