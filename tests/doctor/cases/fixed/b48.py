import torch


def weighted_sum(decoder_hidden, encoder_outputs):
    """Dot attention of one decoder step, shapes (B, H) and (B, S, H)."""
    scores = (encoder_outputs * decoder_hidden.unsqueeze(1)).sum(dim=2)
    weights = scores.softmax(dim=1)  # (B, S)
    context = torch.bmm(weights.unsqueeze(1), encoder_outputs).squeeze(1)
    return context, weights
