"""Scaled dot product attention of a small model, inference in plain numpy."""
import numpy as np


def softmax(x, axis=-1):
    x = x - x.max(axis=axis, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=axis, keepdims=True)
    return x


def masked_attention(queries, keys, values, mask=None):
    """
    queries  B x M x D
    keys     B x N x D
    values   B x N x V
    mask     B x N, 1 for a word and 0 for <pad>
    """
    D = queries.shape[-1]
    scores = np.einsum("bmd,bnd->bmn", queries, keys) / np.sqrt(D)
    if mask is not None:
        scores = np.where(mask[:, None, :] == 0, -1e30, scores)
    probs = softmax(scores)
    return np.einsum("bmn,bnv->bmv", probs, values), probs
