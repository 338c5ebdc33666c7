import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.enc = nn.Linear(decoder_dim, attention_dim)
        self.dec = nn.Linear(decoder_dim, attention_dim)
        self.full = nn.Linear(attention_dim, 1)

    def forward(self, decoder_hidden, encoder_out):
        att = self.full(torch.tanh(self.enc(encoder_out) + self.dec(decoder_hidden).unsqueeze(1)))
        alpha = torch.softmax(att.squeeze(2), dim=1)  # (batch_size, num_pixels)
        attention_weighted = (encoder_out * alpha.unsqueeze(2)).sum(dim=1)
        return attention_weighted, alpha
