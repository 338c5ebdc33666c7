import torch
from torch import nn


class AdditiveAttention(nn.Module):
    """Additive attention with num_hiddens units."""

    def __init__(self, query_size, key_size, num_hiddens, dropout=0.0):
        super().__init__()
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        queries, keys = self.W_q(queries), self.W_k(keys)
        features = queries.unsqueeze(2) + keys.unsqueeze(1)
        scores = self.w_v(torch.tanh(features)).squeeze(-1)
        if valid_lens is not None:
            idx = torch.arange(keys.size(1), device=keys.device)
            scores = scores.masked_fill((idx >= valid_lens[:, None]).unsqueeze(1), float("-inf"))
        self.attention_weights = torch.softmax(scores, dim=-1)
        return torch.bmm(self.dropout(self.attention_weights), values)
