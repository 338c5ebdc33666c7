import torch
import torch.nn as nn


class InputFeedingDecoder(nn.Module):
    """Luong et al. (2015), section 3.3: the attentional vector is fed to the next step."""

    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.cell = nn.LSTMCell(input_dim + hidden_dim, hidden_dim)
        self.score = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.combine = nn.Linear(2 * hidden_dim, hidden_dim, bias=False)

    def forward(self, embedded, state, attentional, memory):
        # embedded (B, I), state ((B, H), (B, H)), attentional (B, H), memory (B, T, H)
        h, c = self.cell(torch.cat([embedded, attentional], dim=-1), state)
        energy = torch.einsum("bh,bth->bt", self.score(h), memory)
        alpha = torch.softmax(energy, dim=-1)
        context = torch.einsum("bt,bth->bh", alpha, memory)
        attentional = torch.tanh(self.combine(torch.cat([h, context], dim=-1)))
        return attentional, (h, c), alpha
