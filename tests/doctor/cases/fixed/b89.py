import torch
import torch.nn as nn


class AttentionDecoderCell(nn.Module):
    """GRU cell with Bahdanau attention: c_t from s_{t-1}, then s_t = GRU([y; c_t], s_{t-1})."""

    def __init__(self, input_dim, enc_dim, dec_dim, attn_dim):
        super().__init__()
        self.W = nn.Linear(dec_dim, attn_dim)
        self.U = nn.Linear(enc_dim, attn_dim)
        self.v = nn.Linear(attn_dim, 1, bias=False)
        self.cell = nn.GRUCell(input_dim + enc_dim, dec_dim)

    def forward(self, y, state, annotations):
        s, prev_context = state
        e = self.v(torch.tanh(self.W(s).unsqueeze(1) + self.U(annotations))).squeeze(-1)
        alpha = e.softmax(dim=-1)
        context = torch.einsum("bt,btd->bd", alpha, annotations)
        s = self.cell(torch.cat([y, context], dim=-1), s)
        return (s, context), alpha
