import torch.nn as nn


class TorchAttention(nn.Module):
    """Self-attention by torch's own module, weights per head."""

    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, num_heads, dropout=dropout, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return self.mha(x, x, x, key_padding_mask=key_padding_mask, average_attn_weights=False)
