import torch
import torch.nn as nn


class AttentionLayer(nn.Module):
    def __init__(self, dec_dim, enc_dim, attn_dim):
        super().__init__()
        self.query_proj = nn.Linear(dec_dim, attn_dim)
        self.key_proj = nn.Linear(enc_dim, attn_dim)
        self.energy = nn.Linear(attn_dim, 1)

    def forward(self, hidden, memory):
        """hidden: B x D, memory: B x T x D"""
        hidden = hidden.unsqueeze(1).expand(-1, memory.size(1), -1)
        scores = self.energy(torch.tanh(self.query_proj(hidden) + self.key_proj(hidden)))
        weights = torch.softmax(scores.squeeze(-1), dim=-1)
        context = torch.einsum("bt,btd->bd", weights, memory)
        return context, weights
