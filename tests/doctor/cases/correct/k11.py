import torch.nn.functional as F


def flash_attend(query, key, value, key_padding_mask=None, dropout_p=0.0, training=False):
    """(batch, heads, length, dim) inputs; key_padding_mask (batch, keys) is True at padding."""
    attn_mask = None
    if key_padding_mask is not None:
        attn_mask = key_padding_mask.logical_not()[:, None, None, :]
    p = dropout_p if training else 0.0
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask, dropout_p=p)
