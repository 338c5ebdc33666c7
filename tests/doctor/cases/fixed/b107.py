import numpy as np


def attention_step(s, H, W_a, U_a, v_a):
    """s: (m, n_s) decoder states, H: (m, Tx, n_h) annotations"""
    m, Tx, _ = H.shape
    s_rep = np.repeat(s[:, None, :], Tx, axis=1)
    e = np.tanh(s_rep @ W_a + H @ U_a) @ v_a
    e = np.exp(e - e.max(axis=1, keepdims=True))
    alphas = e / e.sum(axis=1, keepdims=True)
    context = np.sum(alphas[..., None] * H, axis=1)
    return context, alphas
