import torch
import torch.nn as nn


def make_pad_mask(lengths, size):
    return torch.arange(size, device=lengths.device)[None] >= lengths[:, None]


class CrossAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Linear(dim, dim, bias=False) for _ in range(3))

    def forward(self, tgt, memory, tgt_lengths, memory_lengths):
        q, k, v = self.wq(tgt), self.wk(memory), self.wv(memory)
        scores = q @ k.transpose(-1, -2) / k.size(-1) ** 0.5
        pad = make_pad_mask(tgt_lengths, memory.size(1))
        scores = scores.masked_fill(pad[:, None, :], float("-inf"))
        attn = scores.softmax(dim=-1)
        return attn @ v, attn
