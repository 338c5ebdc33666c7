import numpy as np


def softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def attention(Q, K, V):
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V, batched over the first axis."""
    d_k = K.shape[-1]
    scores = np.matmul(Q, K.transpose(0, 2, 1)) / np.sqrt(d_k)
    weights = softmax(scores)
    return np.matmul(weights, V), weights
