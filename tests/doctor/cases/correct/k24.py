import torch


def alibi_slopes(num_heads):
    start = 2.0 ** (-8.0 / num_heads)
    return torch.tensor([start ** (i + 1) for i in range(num_heads)])


def alibi_attention(q, k, v):
    """Train short, test long: causal attention with linear biases, (B, H, T, D)."""
    heads, T = q.shape[1], q.shape[2]
    pos = torch.arange(T, device=q.device)
    distance = (pos[None, :] - pos[:, None]).to(q.dtype)  # <= 0 in the past
    bias = alibi_slopes(heads).to(q)[:, None, None] * distance
    bias = bias.masked_fill(pos[None, :] > pos[:, None], float("-inf"))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
