import torch
import torch.nn as nn


class MaskedAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self._mask = None

    def get_mask(self, lengths, shape):
        steps = torch.arange(shape[1], device=lengths.device)
        return steps[None, :] >= lengths[:, None]

    def forward(self, query, memory, lengths):
        scores = self.proj(query) @ memory.transpose(1, 2) / memory.size(-1) ** 0.5
        mask = self.get_mask(lengths, memory.shape[:2])
        scores = scores.masked_fill(mask.unsqueeze(1), float("-inf"))
        return scores.softmax(-1) @ memory
