import torch
import torch.nn as nn


class PointerAttention(nn.Module):
    """Pointer network: the distribution over source positions is itself the output."""

    def __init__(self, decoder_size, encoder_size, hidden_size):
        super().__init__()
        self.Wd = nn.Linear(decoder_size, hidden_size, bias=False)
        self.We = nn.Linear(encoder_size, hidden_size)
        self.v = nn.Linear(hidden_size, 1, bias=False)

    def forward(self, decoder_state, encoder_states, pad_mask):
        hidden = torch.tanh(self.We(encoder_states) + self.Wd(decoder_state)[:, None])
        u = self.v(hidden).squeeze(-1)
        return u.masked_fill(pad_mask, -torch.inf).softmax(dim=-1)
