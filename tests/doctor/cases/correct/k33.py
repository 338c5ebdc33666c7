import numpy as np


class AttentionLayer:
    """Additive attention for one sentence at a time."""

    def __init__(self, dec_dim, enc_dim, attn_dim, seed=0):
        rng = np.random.default_rng(seed)
        self.W = rng.normal(0, dec_dim**-0.5, (attn_dim, dec_dim))
        self.U = rng.normal(0, enc_dim**-0.5, (attn_dim, enc_dim))
        self.v = rng.normal(0, attn_dim**-0.5, attn_dim)

    def __call__(self, state, annotations):
        hidden = np.tanh((self.W @ state)[:, None] + self.U @ annotations.T)  # (attn_dim, T)
        e = self.v @ hidden
        alpha = np.exp(e - e.max()) / np.exp(e - e.max()).sum()
        return annotations.T @ alpha, alpha
