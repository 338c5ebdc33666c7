import torch
import torch.nn as nn


class AttentionMechanism(nn.Module):
    """Bilinear score between a decoder state and the encoder states."""

    def __init__(self, decoder_size, encoder_size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(decoder_size, encoder_size) / encoder_size**0.5)

    def forward(self, state, memory):
        proj = torch.matmul(memory, self.weight)  # (B, T, decoder_size)
        scores = torch.bmm(proj, state.unsqueeze(-1)).squeeze(-1)
        weights = torch.softmax(scores, dim=-1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights
