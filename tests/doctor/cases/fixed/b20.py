import numpy as np


def attend(queries, keys, values, padding_mask):
    """padding_mask: (batch, keys), True at <pad> tokens."""
    scores = np.einsum("bqd,bkd->bqk", queries, keys) / keys.shape[-1] ** 0.5
    scores = np.where(padding_mask[:, None, :], -1e9, scores)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return np.einsum("bqk,bkv->bqv", weights, values), weights
