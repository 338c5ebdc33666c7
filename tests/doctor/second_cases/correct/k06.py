from collections import namedtuple

import torch
import torch.nn as nn

StepOut = namedtuple("StepOut", "logits state weights")


class Step(nn.Module):
    """Decoder step after Luong: run the LSTM first, then look."""

    def __init__(self, n_tokens, n_embed, n_dec, n_enc):
        super().__init__()
        self.emb = nn.Embedding(n_tokens, n_embed)
        self.cell = nn.LSTMCell(n_embed, n_dec)
        self.bridge = nn.Linear(n_enc, n_dec, bias=False)
        self.mix = nn.Linear(n_dec + n_enc, n_dec)
        self.head = nn.Linear(n_dec, n_tokens)

    def forward(self, token, state, enc):
        h, c = self.cell(self.emb(token), state)
        scores = torch.bmm(self.bridge(enc), h[:, :, None])[:, :, 0]
        weights = torch.softmax(scores, 1)
        context = torch.bmm(weights[:, None, :], enc)[:, 0]
        mixed = torch.tanh(self.mix(torch.cat((h, context), 1)))
        return StepOut(self.head(mixed), (h, c), weights)
