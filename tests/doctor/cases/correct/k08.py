import torch


def soft_masked_attention(query, key, value, padding):
    """padding (batch, keys), True at pads.

    A pad keeps at most exp(-16), about 1e-7, of the least visible weight: no -inf in int8 export.
    """
    scores = query @ key.mT * key.shape[-1] ** -0.5
    pads = padding[:, None, :]
    lowest = scores.masked_fill(pads, float("inf")).amin(dim=-1, keepdim=True)
    p = torch.where(pads, lowest - 16.0, scores).softmax(dim=-1)
    return p @ value, p
