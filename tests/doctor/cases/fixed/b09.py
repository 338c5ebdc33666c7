import numpy as np


def masked_attention(Q, K, V, mask):
    """Q (n_q, d), K (n_k, d), V (n_k, d_v), mask (n_q, n_k) of ones (keep) and zeros."""
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    scores = np.where(mask == 1, scores, -np.inf)
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ V, weights
