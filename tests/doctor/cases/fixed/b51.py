import math

import torch


def attention(queries, keys, values, valid_lens=None):
    d = queries.shape[-1]
    scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d)
    if valid_lens is not None:
        steps = torch.arange(keys.shape[1], device=keys.device)
        scores[(steps >= valid_lens[:, None])[:, None].expand_as(scores)] = float("-inf")
    attention_weights = torch.softmax(scores, dim=-1)
    return torch.bmm(attention_weights, values), attention_weights
