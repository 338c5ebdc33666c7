import numpy as np


def bahdanau_attention(decoder_state, encoder_states, W_a, U_a, v_a):
    # e_j = v_a^T tanh(W_a s + U_a h_j)
    q = W_a @ decoder_state
    scores = np.zeros(len(encoder_states))
    for j, h_j in enumerate(encoder_states):
        energy = q + U_a @ h_j
        scores[j] = v_a @ energy
    scores = scores - scores.max()
    weights = np.exp(scores) / np.exp(scores).sum()
    context = weights @ encoder_states
    return context, weights
