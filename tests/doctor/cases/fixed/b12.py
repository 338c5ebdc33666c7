import numpy as np


def alignment(s, H, W_a, U_a, v_a):
    """a(s_{i-1}, h_j) of Bahdanau et al. (2015); returns (context, weights)"""
    query_term = W_a @ s  # (attn,)
    key_term = H @ U_a.T  # (T, attn)
    e = np.tanh(query_term + key_term) @ v_a
    a = np.exp(e - np.max(e))
    a = a / a.sum()
    c = a @ H
    return c, a
