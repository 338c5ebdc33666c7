import numpy as np


def dot_attention(query, keys):
    # query: (d,)   keys: (n, d)
    scores = keys @ query
    exp_scores = np.exp(scores)
    weights = exp_scores / np.sum(exp_scores)
    context = (weights[:, np.newaxis] * keys).sum(axis=0)
    return context, weights
