import numpy as np


def luong_dot(decoder_state, encoder_states):
    scores = np.array([h @ decoder_state for h in encoder_states])
    exp = np.exp(scores - scores.max())
    weights = exp / exp.sum()
    context = np.zeros_like(decoder_state)
    for weight, h in zip(weights, encoder_states):
        context += weight * decoder_state
    return context, weights
