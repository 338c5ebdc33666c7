import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def attend(decoder_state, encoder_states, W_a, U_a, v_a):
    """Bahdanau attention for one decoder step.

    decoder_state: (dec_dim,), encoder_states: (T, enc_dim)
    W_a: (attn_dim, dec_dim), U_a: (attn_dim, enc_dim), v_a: (attn_dim,)
    """
    hidden = np.tanh(W_a @ decoder_state + encoder_states @ U_a.T)  # (T, attn_dim)
    scores = hidden @ v_a[:, None]  # (T, 1)
    alphas = softmax(scores)
    context = (alphas * encoder_states).sum(axis=0)
    return context, alphas[:, 0]
