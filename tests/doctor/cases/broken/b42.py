import torch
import torch.nn.functional as F


def score_and_attend(dec_hidden, enc_out):
    """dec_hidden (B, H); enc_out (B, T, H)"""
    scores = torch.bmm(enc_out, dec_hidden.unsqueeze(-1)).squeeze()
    weights = F.softmax(scores, dim=1)
    context = torch.bmm(weights.unsqueeze(1), enc_out).squeeze(1)
    return context, weights
