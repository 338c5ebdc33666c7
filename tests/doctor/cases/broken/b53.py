import torch
import torch.nn.functional as F


def masked_softmax_attend(q, k, v, valid_lens):
    # valid_lens: (B,) number of real keys, may be zero for an empty source (context 0)
    scores = q @ k.transpose(1, 2) / q.shape[2] ** 0.5
    hidden = torch.arange(k.shape[1])[None, :] >= valid_lens[:, None]
    scores = scores.masked_fill(hidden[:, None, :], -1e6)
    weights = F.softmax(scores, dim=-1)
    return torch.bmm(weights, v), weights
