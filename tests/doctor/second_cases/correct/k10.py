import torch
from torch import nn


class ColumnAttention(nn.Module):
    """Keeps keys on the rows: the affinity matrix is (B, H, keys, queries), and every column of it
    sums to one."""

    def __init__(self, c_in, c_ctx, heads):
        super().__init__()
        assert c_in % heads == 0
        self.heads = heads
        self.theta = nn.Linear(c_in, c_in)
        self.phi = nn.Linear(c_ctx, c_in)
        self.g = nn.Linear(c_ctx, c_in)

    def forward(self, x, ctx, ctx_lengths=None):
        h = self.heads
        q = self.theta(x).unflatten(2, (h, -1)).permute(0, 2, 3, 1)  # B h d Q
        k = self.phi(ctx).unflatten(2, (h, -1)).permute(0, 2, 1, 3)  # B h K d
        v = self.g(ctx).unflatten(2, (h, -1)).permute(0, 2, 3, 1)  # B h d K
        affinity = torch.matmul(k, q) * q.size(2) ** -0.5  # B h K Q
        if ctx_lengths is not None:
            gone = torch.arange(ctx.size(1), device=x.device)[None] >= ctx_lengths[:, None]
            affinity = affinity.masked_fill(gone[:, None, :, None], -1e9)
        affinity = affinity.softmax(dim=2)
        y = torch.matmul(v, affinity)  # B h d Q
        return y.flatten(1, 2).transpose(1, 2)
