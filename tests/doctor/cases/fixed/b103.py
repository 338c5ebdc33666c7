import torch
import torch.nn.functional as F


def attend(state, memory, mask):
    """mask: float, 1. for words, 0. for padding"""
    scores = torch.einsum("bd,btd->bt", state, memory) / state.size(-1) ** 0.5
    scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("bt,btd->bd", weights, memory), weights
