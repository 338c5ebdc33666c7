import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, hidden_dim, encoder_dim, attn_dim):
        super().__init__()
        self.W1 = nn.Linear(hidden_dim, attn_dim)
        self.W2 = nn.Linear(encoder_dim, attn_dim)
        self.v = nn.Parameter(torch.empty(attn_dim))
        nn.init.uniform_(self.v, -0.1, 0.1)

    def forward(self, hidden, encoder_out):
        u = torch.tanh(self.W1(hidden).unsqueeze(1) + self.W2(encoder_out))
        alpha = torch.softmax(torch.matmul(u, self.v), dim=1)
        context = (alpha.unsqueeze(2) * encoder_out).sum(dim=1)
        return context, alpha
