import torch
import torch.nn.functional as F


def luong_attention(hidden, encoder_outputs):
    """Dot attention, length first.

    hidden: (1, batch, dim); encoder_outputs: (src_len, batch, dim).
    Returns context (1, batch, dim) and weights (src_len, batch).
    """
    scores = torch.sum(hidden * encoder_outputs, dim=2)
    weights = F.softmax(scores, dim=0)
    context = torch.sum(weights.unsqueeze(2) * encoder_outputs, dim=0, keepdim=True)
    return context, weights
