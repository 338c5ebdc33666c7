import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, enc_dim, dec_dim, attn_dim):
        super().__init__()
        self.W = nn.Linear(dec_dim, attn_dim)
        self.U = nn.Linear(enc_dim, attn_dim)
        self.v = nn.Linear(attn_dim, 1, bias=False)

    def forward(self, hidden, enc_out, mask=None):
        scores = self.v(torch.tanh(self.W(hidden).unsqueeze(1) + self.U(enc_out))).squeeze(2)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, dim=1)


class Decoder(nn.Module):
    def __init__(self, vocab_size, emb_dim, enc_dim, dec_dim, attn_dim):
        super().__init__()
        self.attention = Attention(enc_dim, dec_dim, attn_dim)
        self.embedding = nn.Embedding(vocab_size, emb_dim)
        self.rnn = nn.GRUCell(emb_dim + enc_dim, dec_dim)
        self.fc_out = nn.Linear(dec_dim + enc_dim + emb_dim, vocab_size)

    def forward(self, input, hidden, encoder_outputs, src_mask):
        """src_mask: (batch, src_len), True for real words."""
        embedded = self.embedding(input)
        a = self.attention(hidden, encoder_outputs, src_mask)
        context = torch.bmm(a.unsqueeze(1), encoder_outputs).squeeze(1)
        hidden = self.rnn(torch.cat((embedded, context), dim=1), hidden)
        logits = self.fc_out(torch.cat((hidden, context, embedded), dim=1))
        return {"logits": logits, "hidden": hidden, "attention": a}
