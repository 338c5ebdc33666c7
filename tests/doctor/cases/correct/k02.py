import torch


def log_space_attention(q, k, v, block):
    # block (B, Q, K): True hides
    logits = torch.einsum("bqd,bkd->bqk", q, k).div(q.shape[-1] ** 0.5)
    logits = logits.masked_fill(block, torch.finfo(logits.dtype).min)
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    p = log_p.exp()
    return torch.einsum("bqk,bkv->bqv", p, v), p
