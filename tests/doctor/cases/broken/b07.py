import numpy as np


def attend(query, memory):
    scores = memory.dot(query)
    ex = np.exp(scores - scores.max())
    alpha = ex / ex.sum()
    weighted = alpha.reshape(-1, 1) * memory
    context = np.mean(weighted, axis=0)
    return context, alpha
