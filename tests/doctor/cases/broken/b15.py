import numpy as np


def multi_head_self_attention(x, W_q, W_k, W_v, W_o, num_heads):
    b, t, d = x.shape
    head_dim = d // num_heads

    def split(z):
        # (b, t, d) -> (b, heads, t, head_dim)
        return z.reshape(b, num_heads, t, head_dim)

    q, k, v = split(x @ W_q), split(x @ W_k), split(x @ W_v)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(head_dim)
    scores = scores - scores.max(-1, keepdims=True)
    probs = np.exp(scores)
    probs = probs / probs.sum(-1, keepdims=True)
    out = (probs @ v).transpose(0, 2, 1, 3).reshape(b, t, d)
    return out @ W_o
