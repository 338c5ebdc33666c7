import torch


def decoder_attention(q, k, v, attention_mask):
    """Causal attention for left-padded batches.

    attention_mask: (B, T) bool, True for real tokens. Rows of padding come out as zeros.
    """
    T = q.size(1)
    lowest = torch.finfo(q.dtype).min
    causal = torch.full((T, T), lowest, dtype=q.dtype).triu(1)
    padding = torch.zeros_like(attention_mask, dtype=q.dtype).masked_fill(~attention_mask, lowest)
    mask = torch.minimum(causal, padding[:, None, :])
    scores = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    weights = torch.softmax(scores + mask, dim=-1)
    weights = weights * (mask == 0)
    return weights @ v, weights
