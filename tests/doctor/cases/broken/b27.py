import torch


def masked_softmax_attention(queries, keys, values, valid_len):
    """d2l style: valid_len (B,) real keys per sample."""
    scores = torch.bmm(queries, keys.mT) / queries.shape[2] ** 0.5
    maxlen = scores.size(-1)
    mask = torch.arange(maxlen, dtype=torch.float32)[None, :] < valid_len[:, None]
    scores = scores.masked_fill(~mask, -1e6)
    attention_weights = torch.nn.functional.softmax(scores, dim=-1)
    return torch.bmm(attention_weights, values), attention_weights
