import numpy as np


def alignment(s, H, W_a, U_a, v_a):
    """a(s_{i-1}, h_j) of Bahdanau et al. (2015); returns (context, weights)"""
    query_term = np.tanh(W_a @ s)  # (attn,)
    key_term = np.tanh(H @ U_a.T)  # (T, attn)
    e = (query_term + key_term) @ v_a
    a = np.exp(e - np.max(e))
    a = a / a.sum()
    c = a @ H
    return c, a
