import torch
import torch.nn as nn


class AttentionPooling(nn.Module):
    """v^T tanh(W_q q + W_k k), each side with a projection of its own."""

    def __init__(self, q_dim, k_dim, units):
        super().__init__()
        self.W_q = nn.Linear(q_dim, units, bias=False)
        self.W_k = nn.Linear(k_dim, units, bias=False)
        self.v = nn.Linear(units, 1, bias=False)

    def forward(self, query, keys):
        u = self.W_q(query)[:, None, :] + self.W_q(keys)
        e = self.v(torch.tanh(u))[..., 0]
        p = torch.softmax(e, dim=1)
        return torch.einsum("bt,btk->bk", p, keys), p
