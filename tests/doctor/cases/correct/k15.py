from typing import NamedTuple

import torch
import torch.nn as nn


class StepOutput(NamedTuple):
    logits: torch.Tensor
    state: torch.Tensor
    weights: torch.Tensor


class DecoderRNN(nn.Module):
    def __init__(self, vocab_size, emb_dim, enc_dim, hidden_dim, attn_dim):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, emb_dim)
        self.W_a = nn.Linear(hidden_dim, attn_dim, bias=False)
        self.U_a = nn.Linear(enc_dim, attn_dim)
        self.v_a = nn.Linear(attn_dim, 1, bias=False)
        self.gru = nn.GRUCell(emb_dim + enc_dim, hidden_dim)
        self.out = nn.Linear(hidden_dim + enc_dim + emb_dim, vocab_size)

    def forward(self, y, state, encoder_outputs, lengths):
        """y: (B,) last token; state: s(t-1); attention comes before the update."""
        e = self.v_a(torch.tanh(self.W_a(state)[:, None] + self.U_a(encoder_outputs)))[..., 0]
        pad = torch.arange(e.shape[1], device=e.device)[None] >= lengths[:, None]
        weights = torch.softmax(e.masked_fill(pad, -torch.inf), dim=1)
        context = (weights[..., None] * encoder_outputs).sum(1)
        emb = self.emb(y)
        state = self.gru(torch.cat([emb, context], dim=1), state)
        logits = self.out(torch.cat([state, context, emb], dim=1))
        return StepOutput(logits, state, weights)
