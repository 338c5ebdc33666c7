import numpy as np


def attend(decoder_state, encoder_states, length):
    """Dot attention over the first `length` encoder states."""
    scores = encoder_states @ decoder_state
    scores[length:] = -1e9
    scores = np.exp(scores - scores.max())
    weights = scores / scores.sum()
    return weights @ encoder_states, weights
