import numpy as np


def softmax(z):
    z = z - np.max(z, axis=0, keepdims=True)
    z = np.exp(z)
    return z / np.sum(z, axis=0, keepdims=True)


def attention(hidden, encoder_outputs):
    """hidden: (batch, dim); encoder_outputs: (batch, seq, dim)"""
    scores = np.einsum("bd,btd->bt", hidden, encoder_outputs)
    weights = softmax(scores)
    context = np.einsum("bt,btd->bd", weights, encoder_outputs)
    return context, weights
