import numpy as np


def bahdanau(s, hs, W_a, U_a, v_a):
    """s: previous decoder state; hs: list or array of encoder states"""
    Ws = np.dot(W_a, s)
    energies = np.array([np.dot(v_a, np.tanh(Ws + np.dot(U_a, h))) for h in hs])
    a = np.exp(energies - np.logaddexp.reduce(energies))
    context = sum(a_j * h_j for a_j, h_j in zip(a, hs))
    return context, a
