import torch
import torch.nn as nn


class DecoderStep(nn.Module):
    def __init__(self, emb_size, enc_size, dec_size, attn_size):
        super().__init__()
        self.W = nn.Linear(dec_size, attn_size)
        self.U = nn.Linear(enc_size, attn_size)
        self.v = nn.Linear(attn_size, 1)
        self.gru = nn.GRUCell(emb_size + enc_size, dec_size)

    def forward(self, embedded, hidden, encoder_outputs):
        e = torch.tanh(self.W(hidden)[:, None] + self.U(encoder_outputs))
        alpha = torch.softmax(self.v(e)[:, :, 0], dim=1)
        context = torch.bmm(alpha[:, None], encoder_outputs).squeeze(1)
        hidden = self.gru(torch.cat([embedded, context], dim=-1), hidden)
        return hidden, alpha
