import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value):
    # (batch, seq_q, dim) x (batch, dim, seq_k)
    scores = torch.matmul(query, key.transpose(1, 2))
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, value)
