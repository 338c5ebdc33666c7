import torch
import torch.nn as nn


class CausalMHA(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.attn = nn.MultiheadAttention(n_embd, n_head, batch_first=True)

    def forward(self, x):
        T = x.size(1)
        mask = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        y, _ = self.attn(x, x, x, attn_mask=mask, need_weights=False)
        return y
