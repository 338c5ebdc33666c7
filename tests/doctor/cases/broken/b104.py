import numpy as np


def attend(hidden, encoder_outputs):
    """Dot attention for a batch: hidden (B, D), encoder_outputs (B, T, D)"""
    scores = np.squeeze(encoder_outputs @ hidden[:, :, None])
    scores = scores - scores.max(axis=1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=1, keepdims=True)
    context = np.einsum("bt,btd->bd", weights, encoder_outputs)
    return context, weights
