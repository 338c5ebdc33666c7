import torch


def attention(query, key, value, mask):
    """mask: uint8 (batch, keys), 1 for real tokens and 0 for padding"""
    scores = torch.bmm(query, key.transpose(1, 2)) * query.size(2) ** -0.5
    blocked = (~mask).bool()
    scores = scores.masked_fill(blocked.unsqueeze(1), torch.finfo(scores.dtype).min)
    attn = torch.softmax(scores, dim=2)
    return torch.bmm(attn, value), attn
