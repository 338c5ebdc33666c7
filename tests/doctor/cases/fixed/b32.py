import torch


def masked_attention(hidden, encoder_outputs, src_mask):
    """Luong dot attention.

    hidden (B, H), encoder_outputs (B, T, H), src_mask (B, T): True for words, False for pads.
    """
    scores = torch.bmm(encoder_outputs, hidden.unsqueeze(2)).squeeze(2)
    scores = torch.where(src_mask, scores, torch.full_like(scores, -1e30))
    alpha = torch.softmax(scores, dim=1)
    context = torch.bmm(alpha.unsqueeze(1), encoder_outputs).squeeze(1)
    return context, alpha
