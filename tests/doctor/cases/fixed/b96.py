import torch
import torch.nn as nn


class DecoderWithAttention(nn.Module):
    """Attends with the previous state, then runs the GRU on [input; context]."""

    def __init__(self, emb_dim, hidden_dim):
        super().__init__()
        self.query = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.gru = nn.GRU(emb_dim + hidden_dim, hidden_dim, batch_first=True)

    def forward(self, x, hidden, encoder_outputs):
        # x: [B, 1, emb]  hidden: [1, B, hid]  encoder_outputs: [B, T, hid]
        q = self.query(hidden[-1]).unsqueeze(1)
        attn = torch.softmax(q @ encoder_outputs.permute(0, 2, 1), dim=-1)
        context = attn @ encoder_outputs  # [B, 1, hid]
        rnn_input = torch.cat([x, context], dim=2)
        return self.gru(rnn_input, hidden)
