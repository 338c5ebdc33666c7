import torch
import torch.nn as nn


class SelfAttentionBlock(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x, lengths):
        steps = torch.arange(x.size(1), device=x.device)
        mask = steps.unsqueeze(0) < lengths.unsqueeze(1)
        out, weights = self.attn(x, x, x, key_padding_mask=~mask)
        return out, weights
