from typing import NamedTuple

import torch
import torch.nn as nn


class Step(NamedTuple):
    logits: torch.Tensor
    state: tuple[torch.Tensor, torch.Tensor]
    context: torch.Tensor
    weights: torch.Tensor


class Speller(nn.Module):
    """Listen, attend and spell: the cell is fed the last context, then attends with its output."""

    def __init__(self, num_chars, emb_dim, dim):
        super().__init__()
        self.char = nn.Embedding(num_chars, emb_dim)
        self.cell = nn.LSTMCell(emb_dim + dim, dim)
        self.out = nn.Linear(2 * dim, num_chars)

    def forward(self, token, state, context, listener):
        state = self.cell(torch.cat([self.char(token), context], 1), state)
        query = state[1]
        scores = torch.bmm(listener, query.unsqueeze(2)).squeeze(2)
        weights = torch.softmax(scores, dim=1)
        context = torch.bmm(weights.unsqueeze(1), listener).squeeze(1)
        logits = self.out(torch.cat([state[0], context], dim=1))
        return Step(logits, state, context, weights)
