import numpy as np


def multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads=2):
    """Causal self-attention; x (batch, T, d_model), each W (d_model, d_model)."""
    T = x.shape[1]
    future = np.triu(np.ones((T, T), dtype=bool), 1)
    outputs = []
    for Q, K, V in zip(*(np.split(x @ W, num_heads, axis=-1) for W in (W_q, W_k, W_v))):
        S = Q @ K.transpose(0, 2, 1) * Q.shape[-1] ** -0.5
        S[:, future] = -np.inf
        P = np.exp(S - S.max(-1, keepdims=True))
        outputs.append(P / P.sum(-1, keepdims=True) @ V)
    return np.concatenate(outputs, -1) @ W_o
