import torch
from torch import nn


class LuongDecoderCell(nn.Module):
    """Single time step of a GRU decoder with global attention ("general" score),
    Effective Approaches to Attention-based Neural Machine Translation, 2015."""

    def __init__(self, vocab_size, emb_dim, dec_dim, enc_dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim)
        self.rnn = nn.GRUCell(emb_dim, dec_dim)
        self.W_a = nn.Linear(dec_dim, enc_dim, bias=False)
        self.W_c = nn.Linear(enc_dim + dec_dim, dec_dim, bias=False)
        self.W_s = nn.Linear(dec_dim, vocab_size)

    def forward(self, y, h, enc):
        # y: (B,)  h: (B, dec_dim)  enc: (B, S, enc_dim)
        x = self.embedding(y)
        h_t = self.rnn(x, h)

        e = torch.einsum("bd,bsd->bs", self.W_a(h), enc)
        a_t = torch.softmax(e, dim=-1)
        c_t = torch.einsum("bs,bsd->bd", a_t, enc)

        h_tilde = torch.tanh(self.W_c(torch.cat([c_t, h_t], dim=-1)))
        return self.W_s(h_tilde), h_t, a_t
