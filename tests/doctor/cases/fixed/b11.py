import numpy as np


def attention(query, key, value):
    """Scaled dot-product attention for a single sequence, (length, dim) arrays."""
    n, d = key.shape
    scores = query @ key.T / np.sqrt(d)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True)
    return p @ value, p
