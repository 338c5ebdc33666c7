import torch
import torch.nn as nn


class StepAttention(nn.Module):
    """Causal self-attention for decoding: feed new positions and the cache of the old ones."""

    def __init__(self, embed_dim):
        super().__init__()
        self.q = nn.Linear(embed_dim, embed_dim)
        self.k = nn.Linear(embed_dim, embed_dim)
        self.v = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        q, k, v = self.q(x), self.k(x), self.v(x)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        offset = k.size(1) - q.size(1)
        i = torch.arange(q.size(1), device=x.device)[:, None] + offset
        j = torch.arange(k.size(1), device=x.device)[None, :]
        scores = torch.einsum("bid,bjd->bij", q, k) / q.size(-1) ** 0.5
        weights = scores.masked_fill(j > i, float("-inf")).softmax(-1)
        return weights @ v, (k, v)
