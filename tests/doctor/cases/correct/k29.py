import numpy as np


def attention(h_t, h_s, W):
    # h_t: (n,)  target state   h_s: (T, m) source states   W: (n, m)
    score = h_s.dot(W.T).dot(h_t)
    score = score - np.amax(score)
    align = np.exp(score)
    align = align / np.sum(align)
    return np.tensordot(align, h_s, axes=1), align
