import numpy as np


def attend_batch(states, encoder_outputs, lengths):
    """Dot attention. lengths (B,) counts the real steps of each source, 0 for an empty line."""
    B, T, _ = encoder_outputs.shape
    scores = np.einsum("bd,btd->bt", states, encoder_outputs)
    valid = np.arange(T)[None, :] < np.asarray(lengths)[:, None]
    scores = np.where(valid, scores, -np.inf)
    top = scores.max(axis=1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    weights = e / np.maximum(e.sum(axis=1, keepdims=True), 1e-30)
    context = np.einsum("bt,btd->bd", weights, encoder_outputs)
    return context, weights
