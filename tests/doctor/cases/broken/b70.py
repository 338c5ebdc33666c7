import torch.nn as nn


class EncoderAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, num_heads, dropout=dropout)
        self.norm = nn.Identity()

    def forward(self, x):
        """x: (batch, seq, d_model)"""
        out, _ = self.mha(x, x, x, need_weights=False)
        return self.norm(out)
