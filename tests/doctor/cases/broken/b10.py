import numpy as np


def scaled_dot_product(q, k, v, keep=None):
    # q: [Tq, d]  k: [Tk, d]  v: [Tk, dv]  keep: [Tq, Tk], 1 where attention is allowed
    d = q.shape[-1]
    scores = np.matmul(q, k.T) / np.sqrt(d)
    if keep is not None:
        scores = np.where(keep, scores, 1e-9)
    scores -= scores.max(-1, keepdims=True)
    attn = np.exp(scores)
    attn /= attn.sum(-1, keepdims=True)
    return np.matmul(attn, v), attn
