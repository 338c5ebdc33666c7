import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    """Bahdanau et al. 2015, additive attention."""

    def __init__(self, hidden_size, enc_size, attn_size):
        super().__init__()
        self.attn_h = nn.Linear(hidden_size, attn_size)
        self.attn_e = nn.Linear(enc_size, attn_size)
        self.v = nn.Parameter(torch.rand(attn_size))

    def forward(self, hidden, encoder_outputs):
        energy = torch.tanh(self.attn_h(hidden).unsqueeze(1) + self.attn_e(encoder_outputs))
        attention = torch.matmul(energy, self.v)  # (B, T)
        attention = F.softmax(attention, dim=1)
        context = torch.bmm(attention.unsqueeze(1), encoder_outputs).squeeze(1)
        return context, attention
