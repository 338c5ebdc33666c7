import torch
import torch.nn as nn


class Attn(nn.Module):
    def __init__(self, dec_dim, enc_dim):
        super(Attn, self).__init__()
        self.weight = nn.Parameter(torch.Tensor(dec_dim, enc_dim))

    def forward(self, hidden, enc_output):
        # general: h_t^T W h_s
        q = hidden @ self.weight  # B x enc_dim
        attn_energies = torch.bmm(enc_output, q.unsqueeze(2)).squeeze(2)
        p = torch.softmax(attn_energies, dim=1)
        return torch.bmm(p.unsqueeze(1), enc_output).squeeze(1), p
