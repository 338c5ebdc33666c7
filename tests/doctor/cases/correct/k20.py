import torch
import torch.nn as nn


class BahdanauAttention(nn.Module):
    def __init__(self, query_size, key_size, hidden_size):
        super().__init__()
        self.key_layer = nn.Linear(key_size, hidden_size, bias=False)
        self.query_layer = nn.Linear(query_size, hidden_size, bias=False)
        self.energy_layer = nn.Linear(hidden_size, 1, bias=False)

    def project_keys(self, values):
        """Call once for each batch, and hand the result to every step."""
        return self.key_layer(values)

    def forward(self, query, proj_keys, values, mask):
        # query (B, Q), proj_keys (B, T, H), values (B, T, K), mask (B, T) True = real word
        query = self.query_layer(query).unsqueeze(1)
        scores = self.energy_layer(torch.tanh(query + proj_keys)).squeeze(2)
        scores = scores.masked_fill(~mask, float("-inf"))
        alphas = torch.softmax(scores, dim=-1)
        context = torch.bmm(alphas.unsqueeze(1), values).squeeze(1)
        return context, alphas
