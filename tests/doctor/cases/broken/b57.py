import torch
import torch.nn as nn


class BahdanauAttention(nn.Module):
    def __init__(self, dec_dim, enc_dim, attn_dim):
        super().__init__()
        self.W_a = nn.Linear(dec_dim, attn_dim, bias=False)
        self.U_a = nn.Linear(enc_dim, attn_dim, bias=False)
        self.v_a = nn.Linear(attn_dim, 1, bias=False)

    def forward(self, hidden, encoder_outputs):
        # hidden (B, dec_dim), encoder_outputs (B, T, enc_dim)
        energy = torch.tanh(self.W_a(hidden).unsqueeze(1) + self.U_a(encoder_outputs))
        weights = torch.softmax(self.v_a(energy), dim=2)  # (B, T, 1)
        context = torch.sum(weights * encoder_outputs, dim=1)
        return context, weights.squeeze(2)
