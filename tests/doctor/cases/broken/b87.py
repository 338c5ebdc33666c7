import torch
import torch.nn as nn


class BahdanauDecoder(nn.Module):
    """One step of the decoder of Bahdanau, Cho and Bengio (2015)."""

    def __init__(self, vocab_size, emb_dim, enc_dim, dec_dim, attn_dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim)
        self.W = nn.Linear(dec_dim, attn_dim, bias=False)
        self.U = nn.Linear(enc_dim, attn_dim, bias=False)
        self.v = nn.Linear(attn_dim, 1, bias=False)
        self.rnn = nn.GRUCell(emb_dim + enc_dim, dec_dim)
        self.out = nn.Linear(dec_dim + enc_dim + emb_dim, vocab_size)

    def attend(self, s, h):
        e = self.v(torch.tanh(self.W(s)[:, None, :] + self.U(h))).squeeze(2)
        weights = torch.softmax(e, dim=1)
        return torch.bmm(weights.unsqueeze(1), h).squeeze(1), weights

    def forward(self, token, state, encoder_outputs):
        emb = self.embedding(token)
        context, _ = self.attend(state, encoder_outputs)
        state = self.rnn(torch.cat([emb, context], dim=1), state)
        context, weights = self.attend(state, encoder_outputs)
        logits = self.out(torch.cat([state, context, emb], dim=1))
        return logits, state, weights
