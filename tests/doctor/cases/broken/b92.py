import torch
from torch import nn


class Decoder(nn.Module):
    """Two-layer GRU decoder with Luong dot attention over the encoder outputs."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, num_layers=2, batch_first=True)
        self.proj = nn.Linear(2 * hidden_size, vocab_size)

    def forward(self, token, hidden, enc_outputs):
        output, hidden = self.gru(self.emb(token)[:, None], hidden)
        query = hidden[0]  # (batch, hidden_size)
        scores = torch.einsum("bh,bth->bt", query, enc_outputs)
        attn = scores.softmax(dim=1)
        context = torch.einsum("bt,bth->bh", attn, enc_outputs)
        logits = self.proj(torch.cat([output[:, 0], context], dim=-1))
        return logits, hidden, attn
