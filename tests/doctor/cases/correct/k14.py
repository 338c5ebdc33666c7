import numpy as np


def batch_attend(queries, keys, values, valid_lens):
    out = np.zeros(queries.shape[:2] + (values.shape[-1],))
    weights = np.zeros(queries.shape[:2] + (keys.shape[1],))
    for b, n in enumerate(valid_lens):
        if n == 0:
            continue  # nothing to look at
        scores = queries[b] @ keys[b, :n].T / np.sqrt(queries.shape[-1])
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights[b, :, :n] = e / e.sum(axis=-1, keepdims=True)
        out[b] = weights[b, :, :n] @ values[b, :n]
    return out, weights
