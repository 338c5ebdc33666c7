import torch


def grouped_causal(q, k, v):
    """q: (b, g * r, m, d); k, v: (b, g, n, d) with n >= m. Query heads are taken in blocks of r,
    and the m queries are the last of the n positions."""
    b, hq, m, d = q.shape
    g, n = k.shape[1:3]
    q = (q * d**-0.5).reshape(b, g, hq // g, m, d)
    scores = torch.einsum("bgrmd,bgnd->bgrmn", q, k)
    i = torch.arange(n - m, n, device=q.device)[:, None]
    j = torch.arange(n, device=q.device)[None, :]
    scores = torch.where(j <= i, scores, torch.finfo(scores.dtype).min)
    p = torch.softmax(scores.float(), dim=-1).to(q.dtype)
    return torch.einsum("bgrmn,bgnd->bgrmd", p, v).reshape(b, hq, m, v.size(-1))
