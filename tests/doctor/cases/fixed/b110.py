import numpy as np


def masked_attention(q, k, v, blocked):
    # blocked: (n_q, n_k) bool, True = hidden
    scores = q @ k.T / np.sqrt(q.shape[-1])
    scores[blocked] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights
