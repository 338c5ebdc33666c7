import numpy as np


def general_attention(decoder_state, encoder_states, W):
    """Luong's general score: decoder_state^T W h_j.

    decoder_state (d,), encoder_states (T, d), W (d, d)
    """
    scores = encoder_states @ W @ decoder_state
    scores -= np.max(scores)
    weights = np.exp(scores)
    weights /= weights.sum()
    return weights @ encoder_states, weights
