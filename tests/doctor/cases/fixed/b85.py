import torch
import torch.nn as nn


class GlobalAttention(nn.Module):
    def __init__(self, dec_dim, enc_dim, attn_dim):
        super().__init__()
        self.linear_query = nn.Linear(dec_dim, attn_dim)
        self.linear_context = nn.Linear(enc_dim, attn_dim, bias=False)
        self.v = nn.Linear(attn_dim, 1, bias=False)

    def forward(self, source, memory_bank):
        """source (batch, dec_dim), memory_bank (batch, src_len, enc_dim)"""
        wq = self.linear_query(source).unsqueeze(1)
        uh = self.linear_context(memory_bank)
        align = self.v(torch.tanh(wq + uh)).squeeze(-1)
        weights = torch.softmax(align, -1)
        context = torch.bmm(weights.unsqueeze(1), memory_bank).squeeze(1)
        return context, weights
