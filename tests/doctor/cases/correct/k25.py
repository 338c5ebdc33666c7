import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, inner_dim, heads=2):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(query_dim, inner_dim, bias=False)
        self.to_k = nn.Linear(context_dim, inner_dim, bias=False)
        self.to_v = nn.Linear(context_dim, inner_dim, bias=False)
        self.to_out = nn.Linear(inner_dim, query_dim)

    def forward(self, x, context):
        b, h = x.size(0), self.heads

        def fold(t):  # b n (h d) -> (b h) n d
            return t.unflatten(-1, (h, -1)).transpose(1, 2).flatten(0, 1)

        q, k, v = fold(self.to_q(x)), fold(self.to_k(context)), fold(self.to_v(context))
        sim = torch.bmm(q, k.transpose(1, 2)) * q.size(-1) ** -0.5
        out = torch.bmm(sim.softmax(dim=-1), v)
        out = out.unflatten(0, (b, h)).transpose(1, 2).flatten(2)
        return self.to_out(out)
