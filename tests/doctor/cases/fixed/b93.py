import torch
import torch.nn as nn
import torch.nn.functional as F


class LSTMDecoderStep(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.lstm = nn.LSTMCell(input_size, hidden_size)
        self.combine = nn.Linear(hidden_size * 2, hidden_size)

    def forward(self, x, state, encoder_outputs):
        # x: B x I, state: (B x H, B x H), encoder_outputs: T x B x H
        h, c = self.lstm(x, state)
        scores = (encoder_outputs * h.unsqueeze(0)).sum(dim=2)  # T x B
        weights = F.softmax(scores, dim=0)
        context = (weights.unsqueeze(2) * encoder_outputs).sum(dim=0)  # B x H
        out = torch.tanh(self.combine(torch.cat([context, h], dim=1)))
        return out, (h, c), weights
