import numpy as np


def alignment_model(s_prev, h, W_a, U_a, v_a):
    """e_ij = v_a . tanh(W_a s_{i-1} + U_a h_j)"""
    T = h.shape[0]
    e = np.empty(T)
    for j in range(T):
        e[j] = v_a @ np.tanh(W_a @ s_prev + U_a @ h[j])
    alpha = np.exp(e - e.max())
    alpha /= np.sum(alpha)
    c = np.sum(alpha[:, None] * h, axis=0)
    return c, alpha
