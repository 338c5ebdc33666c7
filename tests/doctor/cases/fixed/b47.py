import torch.nn.functional as F


def attention(q, k, v, dropout=0.1, training=False):
    """q, k, v: (B, heads, T, head_dim)"""
    return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout if training else 0.0)
