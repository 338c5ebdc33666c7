import torch
import torch.nn as nn


class Atencion(nn.Module):
    '''Mecanismo de atención aditiva (Bahdanau, 2015).

    e_ij = v^T tanh(W s_i + U h_j)
    '''
    def __init__(self, dim_dec, dim_enc, dim_attn):
        super().__init__()
        self.W = nn.Linear(dim_dec, dim_attn, bias=False)
        self.U = nn.Linear(dim_enc, dim_attn, bias=False)
        self.v = nn.Linear(dim_attn, 1, bias=False)

    def forward(self, s, h, mascara=None):
        # s: (lote, dim_dec)   h: (lote, T, dim_enc)   mascara: (lote, T), True = palabra
        e = self.v(torch.tanh(self.W(s).unsqueeze(1) + self.U(h))).squeeze(-1)
        if mascara is not None:
            e = e.masked_fill(~mascara, -1e9)
        alfa = torch.softmax(e, dim=1)
        contexto = (alfa.unsqueeze(-1) * h).sum(dim=1)
        return contexto, alfa
