import numpy as np


def concat_attention(decoder_state, encoder_states, W, v):
    states = np.broadcast_to(decoder_state, (len(encoder_states), decoder_state.size))
    pairs = np.hstack([states, encoder_states])
    scores = np.tanh(pairs @ W.T) @ v
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return weights @ encoder_states, weights
