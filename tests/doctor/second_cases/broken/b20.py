import torch
from torch import nn


class AdditiveAttention(nn.Module):
    """Additive attention. The weights of the last call stay in `attention_weights` for plotting."""

    def __init__(self, key_size, query_size, num_hiddens, dropout=0.0):
        super().__init__()
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        # (batch_size, no. of queries, 1, num_hiddens) + (batch_size, 1, no. of keys, num_hiddens)
        features = self.W_q(queries).unsqueeze(2) + self.W_k(keys).unsqueeze(1)
        scores = self.w_v(torch.tanh(features)).squeeze(-1)
        if valid_lens is not None:
            cols = torch.arange(scores.size(-1), device=scores.device)
            keep = cols[None, None, :] < valid_lens[:, None, None]
            scores = scores.masked_fill(~keep, -1e9)
        self.attention_weights = torch.softmax(scores, dim=-1).detach()
        return torch.bmm(self.dropout(self.attention_weights), values)
