import torch
import torch.nn as nn
import torch.nn.functional as F


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, hidden, encoder_outputs):
        # hidden: (1, B, H), as nn.GRU returns it
        # encoder_outputs: (B, T, H), batch_first=True
        scores = self.Va(torch.tanh(self.Wa(hidden) + self.Ua(encoder_outputs)))
        scores = scores.squeeze(2).unsqueeze(1)

        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, encoder_outputs)

        return context, weights
