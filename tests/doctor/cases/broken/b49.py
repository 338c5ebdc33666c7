import torch


def attend(s, h):
    # s: [b, n]  h: [b, t, n]
    e = torch.einsum("bn,btn->bt", s, h)
    weights = torch.softmax(e, -1)
    context = (weights * h).sum(1)
    return context, weights
