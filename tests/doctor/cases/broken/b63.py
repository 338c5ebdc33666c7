import torch
import torch.nn as nn
import torch.nn.functional as F


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size, memory_size, units):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, units)
        self.Ua = nn.Linear(memory_size, units)
        self.Va = nn.Linear(units, 1)

    def forward(self, query, keys):
        # query: (B, hidden), keys: (B, T, memory)
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2)
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights.unsqueeze(1), keys)
        return context.squeeze(1), weights
