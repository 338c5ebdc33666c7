import torch
import torch.nn as nn


class AdditiveAttention(nn.Module):
    """Queries (B, n, q), keys (B, m, k), values (B, m, v); valid_lens (B,) of 1 or more."""

    def __init__(self, query_size, key_size, num_hiddens, dropout=0.0):
        super().__init__()
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        features = torch.tanh(self.W_q(queries).unsqueeze(2) + self.W_k(keys).unsqueeze(1))
        scores = self.w_v(features).squeeze(-1)
        if valid_lens is not None:
            outside = torch.arange(keys.shape[1], device=keys.device) >= valid_lens[:, None]
            scores = scores.masked_fill(outside[:, None, :], -1e6)
        self.attention_weights = torch.softmax(scores, dim=-1)
        return torch.bmm(self.dropout(self.attention_weights), values)
