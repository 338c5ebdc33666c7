import numpy as np


def attend(hidden, encoder_outputs, mask):
    """mask (B, T): 1 for words, 0 for padding. A sample of padding alone gets zeros."""
    scores = np.matmul(encoder_outputs, hidden[:, :, np.newaxis])[:, :, 0]
    keep = mask.astype(bool)
    top = np.max(scores, axis=1, keepdims=True, where=keep, initial=-1e30)
    e = np.exp(scores - top, where=keep, out=np.zeros_like(scores))
    weights = e / np.maximum(e.sum(axis=1, keepdims=True), 1e-12)
    return (weights[:, np.newaxis] @ encoder_outputs)[:, 0], weights
