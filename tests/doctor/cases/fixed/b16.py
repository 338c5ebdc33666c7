import numpy as np


def causal_self_attention(x, W_q, W_k, W_v):
    """Single head decoder self-attention on one sequence x of shape (T, d)."""
    T = x.shape[0]
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    scores = q @ k.T / np.sqrt(q.shape[1])
    allowed = np.tril(np.ones((T, T)), k=0)
    scores[allowed == 0] = -np.inf
    scores = scores - scores.max(axis=1, keepdims=True)
    A = np.exp(scores)
    A = A / A.sum(axis=1, keepdims=True)
    return A @ v, A
