import numpy as np


class AdditiveAttention:
    def __init__(self, W_a, U_a, v_a):
        self.W_a = W_a  # (dec_dim, attn_dim)
        self.U_a = U_a  # (enc_dim, attn_dim)
        self.v_a = v_a  # (attn_dim,)

    def __call__(self, decoder_state, encoder_states):
        # (B, 1, attn_dim) + (B, T, attn_dim)
        energy = np.tanh((decoder_state @ self.W_a)[:, None, :] + encoder_states @ self.U_a)
        scores = energy @ self.v_a
        scores -= scores.max(axis=1, keepdims=True)
        weights = np.exp(scores)
        weights /= weights.sum(axis=1, keepdims=True)
        context = np.sum(weights[:, :, None] * encoder_states, axis=1)
        return context, weights
