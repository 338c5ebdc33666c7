import torch
import torch.nn as nn


class BahdanauAttention(nn.Module):
    def __init__(self, query_size, key_size, hidden_size):
        super().__init__()
        self.key_layer = nn.Linear(key_size, hidden_size, bias=False)
        self.query_layer = nn.Linear(query_size, hidden_size, bias=False)
        self.energy_layer = nn.Linear(hidden_size, 1, bias=False)
        self.proj_keys = None

    def forward(self, query, encoder_outputs):
        # the keys are the same at every decoder step
        if self.proj_keys is None:
            self.proj_keys = self.key_layer(encoder_outputs)
        keys = self.proj_keys
        scores = self.energy_layer(torch.tanh(self.query_layer(query).unsqueeze(1) + keys))
        alphas = torch.softmax(scores.squeeze(2), dim=-1)
        context = torch.bmm(alphas.unsqueeze(1), encoder_outputs)
        return context.squeeze(1), alphas
