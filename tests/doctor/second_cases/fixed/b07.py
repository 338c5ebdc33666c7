import torch
from torch import nn, einsum

def exists(val):
    return val is not None

def default(val, d):
    return val if exists(val) else d

class CrossAttention(nn.Module):
    def __init__(self, dim, context_dim = None, heads = 8, dim_head = 64, dropout = 0.):
        super().__init__()
        inner_dim = dim_head * heads
        context_dim = default(context_dim, dim)

        self.heads = heads
        self.scale = dim_head ** -0.5

        self.to_q = nn.Linear(dim, inner_dim, bias = False)
        self.to_kv = nn.Linear(context_dim, inner_dim * 2, bias = False)
        self.dropout = nn.Dropout(dropout)
        self.to_out = nn.Linear(inner_dim, dim)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.heads, -1).transpose(1, 2)

    def forward(self, x, context = None, mask = None):
        b, n, _ = x.shape
        context = default(context, x)

        q = self.split(self.to_q(x))
        k, v = map(self.split, self.to_kv(context).chunk(2, dim = -1))

        sim = einsum('b h i d, b h j d -> b h i j', q, k) * self.scale

        if exists(mask):
            # mask: b j, True where there is a token
            sim = sim.masked_fill(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)

        attn = sim.softmax(dim = -1)
        attn = self.dropout(attn)

        out = einsum('b h i j, b h j d -> b h i d', attn, v)
        out = out.transpose(1, 2).reshape(b, n, -1)
        return self.to_out(out)
