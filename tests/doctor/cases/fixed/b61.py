import torch
import torch.nn as nn


class Attn(nn.Module):
    """Global attention of Luong et al., the concat form; length-first encoder outputs."""

    def __init__(self, enc_dim, dec_dim):
        super().__init__()
        self.attn = nn.Linear(dec_dim + enc_dim, 8)
        self.v = nn.Linear(8, 1, bias=False)

    def forward(self, rnn_output, enc_states):
        # rnn_output (batch, dec_dim); enc_states (src, batch, enc_dim)
        states = enc_states.transpose(0, 1)
        query = rnn_output.unsqueeze(1).expand(-1, states.size(1), -1)
        pair = torch.cat([query, states], dim=-1)
        scores = self.v(torch.tanh(self.attn(pair))).squeeze(-1)
        return torch.softmax(scores, dim=-1)
