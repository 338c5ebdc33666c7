import numpy as np


def attention(Q, K, V, lengths):
    n = K.shape[1]
    scores = Q @ np.transpose(K, (0, 2, 1)) / np.sqrt(Q.shape[2])
    valid = np.arange(n)[None, :] < lengths[:, None]  # (batch, n)
    scores = scores + np.where(valid, 0.0, -1e9)[:, None, :]
    w = np.exp(scores - scores.max(axis=2, keepdims=True))
    w /= w.sum(axis=2, keepdims=True)
    return w @ V, w
