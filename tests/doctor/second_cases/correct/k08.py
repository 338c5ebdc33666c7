import numpy as np


def streaming_attention(q, k, v, keep, block=2):
    """
    softmax(q k^T / sqrt(d)) v over the keys with keep == 1, a block of keys at a time.

    q (B, M, D), k (B, N, D), v (B, N, E), keep (B, N). A sample without keys gets zeros.
    """
    q = q * q.shape[-1] ** -0.5
    top = np.full(q.shape[:2], -np.inf)
    mass = np.zeros(q.shape[:2])
    acc = np.zeros(q.shape[:2] + v.shape[-1:])
    for start in range(0, k.shape[1], block):
        part = slice(start, start + block)
        s = q @ k[:, part].transpose(0, 2, 1)
        s = np.where(keep[:, None, part], s, -np.inf)
        new_top = np.maximum(top, s.max(-1))
        safe = np.where(np.isinf(new_top), 0.0, new_top)
        p = np.exp(s - safe[..., None])
        shrink = np.exp(top - safe)
        mass = mass * shrink + p.sum(-1)
        acc = acc * shrink[..., None] + p @ v[:, part]
        top = new_top
    return acc / np.where(mass == 0, 1.0, mass)[..., None]
