import torch.nn as nn


class MaskedSelfAttention(nn.Module):
    """A thin wrapper around nn.MultiheadAttention, batch first."""

    def __init__(self, hidden_dim, n_heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(hidden_dim, n_heads, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        attn_output, _ = self.attention(
            query=x, key=x, value=x, need_weights=False
        )
        return attn_output
