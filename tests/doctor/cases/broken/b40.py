import torch


def luong_attention(hidden, encoder_outputs):
    """hidden [batch, dim], encoder_outputs [seq_len, batch, dim] straight from nn.GRU"""
    seq_len, batch, dim = encoder_outputs.shape
    enc = encoder_outputs.view(batch, seq_len, dim)
    energies = torch.bmm(enc, hidden.unsqueeze(2)).squeeze(2)  # [batch, seq_len]
    alpha = torch.softmax(energies, dim=1)
    context = torch.bmm(alpha.unsqueeze(1), enc).squeeze(1)
    return context, alpha
