import numpy as np


def logsumexp(a):
    m = a.max()
    return m + np.log(np.sum(np.exp(a - m)))


def general_attention(decoder_state, encoder_states, W):
    """score(s, h_j) = s^T W h_j, with s of (n,), h of (T, m) and W of (n, m)."""
    e = encoder_states @ (W.T @ decoder_state)
    alpha = np.exp(e - logsumexp(e))
    context = sum(a * h for a, h in zip(alpha, encoder_states))
    return context, alpha
