import torch
import torch.nn as nn
import torch.nn.functional as F


class LuongAttention(nn.Module):
    def __init__(self, hidden_size, enc_size, p=0.2):
        super().__init__()
        self.W = nn.Linear(enc_size, hidden_size, bias=False)
        self.p = p

    def forward(self, s, enc):
        # general: s W h
        scores = torch.einsum("bh,bth->bt", s, self.W(enc))
        weights = F.softmax(scores, dim=-1)
        context = torch.einsum("bt,bte->be", F.dropout(weights, self.p), enc)
        return context, weights
