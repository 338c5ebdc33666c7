import numpy as np


def concat_attention(state, enc, W, v):
    """Luong's concat: v^T tanh(W [s; h_j]).

    state (S,), enc (T, H), W (A, S + H), v (A,)
    """
    tiled = np.tile(state, (enc.shape[0], 1))
    pair = np.concatenate([tiled, enc], axis=0)
    e = np.tanh(pair @ W.T) @ v
    a = np.exp(e - e.max())
    a /= a.sum()
    return a @ enc, a
