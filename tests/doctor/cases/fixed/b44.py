import torch


def soft_lookup(q, k, v):
    sim = torch.einsum("bid,bjd->bij", q, k)
    exp = torch.exp(sim - sim.amax(dim=-1, keepdim=True))
    weights = exp / exp.sum(dim=-1, keepdim=True)
    return torch.einsum("bij,bjd->bid", weights, v), weights
