import torch


def additive_mask_attention(q, k, v, attention_mask):
    # attention_mask: 1 for tokens to attend to, 0 for padding, (batch, 1, k_len)
    scores = torch.matmul(q, k.transpose(-1, -2)) / q.size(-1) ** 0.5
    mask = attention_mask.to(scores.dtype)
    scores = scores + mask
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights
