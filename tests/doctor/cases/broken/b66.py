import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context):
        b, n, dim = x.shape
        h = self.heads
        q = self.to_q(x).view(b, n, h, dim // h).permute(0, 2, 1, 3)
        k = self.to_k(context).view(b, -1, h, dim // h).permute(0, 2, 1, 3)
        v = self.to_v(context).view(b, -1, h, dim // h).permute(0, 2, 1, 3)
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * (dim // h) ** -0.5
        attn = sim.softmax(dim=-1)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        return self.to_out(out.reshape(b, n, dim))
