import torch
import torch.nn as nn
import torch.nn.functional as F

MAX_LENGTH = 10


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attn = nn.Linear(hidden_size, hidden_size)
        self.attn_combine = nn.Linear(hidden_size * 2, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden, encoder_outputs):
        # input (B, 1); hidden (1, B, H); encoder_outputs (B, MAX_LENGTH, H)
        embedded = self.embedding(input)
        energy = self.attn(hidden[0]).unsqueeze(1) @ encoder_outputs.transpose(1, 2)
        attn_weights = F.softmax(energy, dim=-1)
        attn_applied = torch.bmm(attn_weights, encoder_outputs)
        x = F.relu(self.attn_combine(torch.cat((embedded, attn_applied), dim=2)))
        output, hidden = self.gru(x, hidden)
        return F.log_softmax(self.out(output[:, 0]), dim=1), hidden, attn_weights
