import torch.nn.functional as F
from torch import nn


class SDPA(nn.Module):
    def __init__(self, width, heads, drop=0.1):
        super().__init__()
        self.heads, self.drop = heads, drop
        self.q, self.kv, self.o = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, tgt, mem, mem_key_padding_mask=None):
        """mem_key_padding_mask: (B, S), True = padding"""
        B, L, W = tgt.shape
        split = lambda t: t.reshape(B, t.shape[1], self.heads, W // self.heads).transpose(1, 2)
        k, v = (split(t) for t in self.kv(mem).chunk(2, -1))
        m = None if mem_key_padding_mask is None else ~mem_key_padding_mask[:, None, None]
        y = F.scaled_dot_product_attention(
            split(self.q(tgt)), k, v, m, dropout_p=self.drop * self.training
        )
        return self.o(y.transpose(1, 2).reshape(B, L, W))
