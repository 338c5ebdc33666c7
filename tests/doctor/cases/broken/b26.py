import math

import torch


def sequence_mask(lengths, maxlen):
    return torch.arange(maxlen, device=lengths.device)[None, :] < lengths[:, None]


def dot_product_attention(queries, keys, values, valid_lens=None):
    # queries (batch_size, n, d), keys (batch_size, n, d), valid_lens (batch_size,)
    scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
    if valid_lens is not None:
        mask = sequence_mask(valid_lens, keys.shape[1])
        scores = scores.masked_fill(~mask.unsqueeze(-1), -1e6)
    weights = scores.softmax(-1)
    return weights @ values, weights
