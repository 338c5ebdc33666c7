import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


class MultiHead:
    """Multi-head cross-attention, forward pass only."""

    def __init__(self, W_q, W_k, W_v, W_o, num_heads):
        self.W_q, self.W_k, self.W_v, self.W_o = W_q, W_k, W_v, W_o
        self.num_heads = num_heads

    def forward(self, query, memory):
        q, k, v = query @ self.W_q, memory @ self.W_k, memory @ self.W_v
        d_model = q.shape[-1]
        d_head = d_model // self.num_heads
        scale = 1.0 / np.sqrt(d_model)
        heads = []
        for h in range(self.num_heads):
            cols = slice(h * d_head, (h + 1) * d_head)
            scores = q[..., cols] @ k[..., cols].swapaxes(-1, -2) * scale
            heads.append(softmax(scores) @ v[..., cols])
        return np.concatenate(heads, axis=-1) @ self.W_o
