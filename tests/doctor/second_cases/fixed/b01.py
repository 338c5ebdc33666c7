import numpy as np


def softmax(x):
    x = x - np.max(x, axis=-1, keepdims=True)
    e = np.exp(x)
    return e / np.sum(e, axis=-1, keepdims=True)


def attention_step(s_prev, H, W_a, U_a, v_a):
    """
    One decoder step, eq. (5) and (6) of the paper.

    s_prev : (batch, n)      state s_{i-1} of the decoder
    H      : (batch, T, 2n)  annotations of the source sentence
    W_a    : (d, n)
    U_a    : (d, 2n)
    v_a    : (d,)
    """
    ws = s_prev @ W_a.T
    uh = H @ U_a.T
    e = np.tanh(ws[:, None, :] + uh) @ v_a
    alpha = softmax(e)
    c = np.einsum('bt,bte->be', alpha, H)
    return c, alpha


if __name__ == '__main__':
    rng = np.random.RandomState(0)
    n, d, T, batch = 4, 6, 5, 3
    c, alpha = attention_step(rng.randn(batch, n), rng.randn(batch, T, 2 * n),
                              rng.randn(d, n), rng.randn(d, 2 * n), rng.randn(d))
    print(c.shape, alpha.shape)
