import numpy as np


def compute_context(s_prev, h, W_a, U_a, v_a):
    """One step of additive attention.

    s_prev: previous decoder state, (n,)
    h: encoder annotations, (Tx, m)
    Returns the context vector and the alphas, (Tx,).
    """
    projected = h @ U_a.T
    e = np.tanh(s_prev @ W_a.T + projected) @ v_a
    e = np.exp(e - e.max())
    alphas = e / e.sum()
    context = alphas @ h
    return context, alphas
