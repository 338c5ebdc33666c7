import torch


def dot_attention(hidden, encoder_outputs):
    # hidden: (B, H)   encoder_outputs: (B, T, H)
    scores = torch.matmul(encoder_outputs, hidden[0])  # (B, T)
    weights = torch.softmax(scores, dim=1)
    context = (weights.unsqueeze(2) * encoder_outputs).sum(1)
    return context, weights
