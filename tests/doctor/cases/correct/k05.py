import torch


def attend(q, k, v, block_mask):
    """block_mask: bool, True where a pair must not see each other; no row is ever full."""
    bias = torch.zeros(block_mask.shape, dtype=q.dtype, device=q.device)
    bias = bias.masked_fill(block_mask, -torch.inf)
    a = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=q.shape[2] ** -0.5).softmax(2)
    return a.bmm(v), a
