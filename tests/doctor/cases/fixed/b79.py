import torch
import torch.nn as nn


class AdditiveAttention(nn.Module):
    def __init__(self, dec_dim, enc_dim, attn_dim):
        super().__init__()
        self.query_proj = nn.Linear(dec_dim, attn_dim, bias=False)
        self.key_proj = nn.Linear(enc_dim, attn_dim, bias=False)
        self.v = nn.Parameter(torch.randn(attn_dim) * 0.1)

    def forward(self, state, annotations):
        keys = self.key_proj(annotations)  # once per sentence
        energy = torch.tanh(self.query_proj(state)[:, None] + keys)
        alpha = torch.softmax(energy @ self.v, dim=1)
        return torch.einsum("bt,bth->bh", alpha, annotations), alpha
