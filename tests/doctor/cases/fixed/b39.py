import torch


def attention(queries, keys, values):
    B, T, D = keys.shape
    scores = torch.bmm(queries, keys.transpose(1, 2)) / D**0.5
    weights = torch.softmax(scores, dim=2)
    return torch.bmm(weights, values), weights
