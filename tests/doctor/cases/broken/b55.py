import torch


def attend(query, key, value, may_attend):
    """Returns the context and the weights that made it. may_attend: True = visible."""
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    visible = scores.masked_fill(~may_attend, float("-inf"))
    context = torch.softmax(visible, dim=-1) @ value
    return context, torch.softmax(scores, dim=-1)
