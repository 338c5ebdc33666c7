import torch
import torch.nn as nn
import torch.nn.functional as F


class FusedAttention(nn.Module):
    """Attention on the fused kernel; set ``need_weights`` to look at the weights.

    ``key_padding_mask`` follows nn.MultiheadAttention: (batch, key_len), True on padding.
    """

    def __init__(self, embed_dim: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=False):
        q = self._heads(self.q_proj(query))
        k = self._heads(self.k_proj(key))
        v = self._heads(self.v_proj(value))

        keep = None
        if key_padding_mask is not None:
            keep = key_padding_mask.logical_not()[:, None, None, :]

        if need_weights:
            # the kernel does not return them
            scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
            if keep is not None:
                scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
            weights = scores.softmax(-1)
            context = weights @ v
        else:
            weights = None
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)

        output = self.out_proj(context.transpose(1, 2).flatten(2))
        return output, weights
