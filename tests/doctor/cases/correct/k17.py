import torch


def attention(query, key, value, key_mask=None):
    """key_mask (batch, keys): True for keys that count, at least one in each sample."""
    scores = torch.einsum("bqd,bkd->bqk", query, key) * key.shape[-1] ** -0.5
    if key_mask is not None:
        scores = scores.masked_fill(key_mask.unsqueeze(1).logical_not(), float("-inf"))
    weights = scores.softmax(dim=-1)
    return {"context": torch.einsum("bqk,bkv->bqv", weights, value), "weights": weights}
