import torch


def chunked_attention(q, k, v, block_size=4):
    """Exact attention over blocks of keys, never holding the whole score matrix."""
    q = q / q.shape[-1] ** 0.5
    running_max = torch.full_like(q[..., :1], float("-inf"))
    running_sum = torch.zeros_like(running_max)
    acc = q.new_zeros(*q.shape[:-1], v.shape[-1])
    for k_blk, v_blk in zip(k.split(block_size, dim=-2), v.split(block_size, dim=-2)):
        s = q @ k_blk.transpose(-1, -2)
        new_max = torch.maximum(running_max, s.amax(dim=-1, keepdim=True))
        p = torch.exp(s - new_max)
        fade = torch.exp(running_max - new_max)
        running_sum = running_sum * fade + p.sum(dim=-1, keepdim=True)
        acc = acc * fade + p @ v_blk
        running_max = new_max
    return acc / running_sum
