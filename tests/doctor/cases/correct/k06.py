import torch


def attend(queries, keys, values, keep):
    """Scaled dot-product attention; keep[b, i, j] is True when query i may look at key j."""
    sim = queries.matmul(keys.transpose(-2, -1)) / torch.tensor(queries.size(-1)).sqrt()
    sim = torch.where(keep, sim, torch.finfo(sim.dtype).min)
    prob = torch.nn.functional.softmax(sim, dim=-1)
    return prob.matmul(values)
