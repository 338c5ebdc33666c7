import numpy as np


def batch_attention(decoder_state, encoder_states, W_a, U_a, v_a):
    """decoder_state (B, S), encoder_states (B, T, H)."""
    state_proj = decoder_state @ W_a
    enc_proj = encoder_states @ U_a
    hidden = np.tanh(state_proj + enc_proj)  # (B, T, A)
    scores = hidden @ v_a  # (B, T)
    scores = scores - scores.max(axis=1, keepdims=True)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    context = (weights[:, :, None] * encoder_states).sum(axis=1)
    return context, weights
