import numpy as np

# Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V


def attention(Q, K, V, lengths=None):
    d_k = K.shape[-1]
    Q = Q / np.sqrt(d_k)
    S = Q @ np.swapaxes(K, -1, -2)
    if lengths is not None:
        # lengths: number of real keys of each sample
        pad = np.arange(K.shape[-2]) >= np.asarray(lengths)[:, None]
        S = np.where(pad[:, None, :], -1e30, S)
    S = S - S.max(-1, keepdims=True)
    P = np.exp(S)
    P = P / P.sum(-1, keepdims=True)
    return P @ V, P
