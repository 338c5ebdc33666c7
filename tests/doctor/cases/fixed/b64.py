import torch
import torch.nn as nn


class LuongGeneral(nn.Module):
    """score(s, h) = s^T W h"""

    def __init__(self, hidden_size, enc_size):
        super().__init__()
        self.W = nn.Linear(enc_size, hidden_size, bias=False)

    def forward(self, hidden, encoder_outputs):
        # hidden: last state of an nn.GRU, (num_layers, batch, hidden)
        query = hidden[-1].unsqueeze(1)
        energy = query @ self.W(encoder_outputs).transpose(1, 2)  # (batch, 1, T)
        weights = torch.softmax(energy, dim=-1)
        return (weights @ encoder_outputs).squeeze(1), weights.squeeze(1)
