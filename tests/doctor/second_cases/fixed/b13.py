import torch.nn as nn
import torch.nn.functional as F


class EncoderLayer(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward=64, dropout=0.0):
        super().__init__()
        self.nhead = nhead
        self.dropout = dropout
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def self_attn(self, x, src_key_padding_mask):
        bsz, seq_len, dim = x.shape
        q, k, v = self.in_proj(x).chunk(3, dim=-1)
        q = q.view(bsz, seq_len, self.nhead, -1).transpose(1, 2)
        k = k.view(bsz, seq_len, self.nhead, -1).transpose(1, 2)
        v = v.view(bsz, seq_len, self.nhead, -1).transpose(1, 2)
        attn_mask = None
        if src_key_padding_mask is not None:
            attn_mask = src_key_padding_mask.logical_not().view(bsz, 1, 1, seq_len)
        p = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, dropout_p=p)
        return self.out_proj(out.transpose(1, 2).reshape(bsz, seq_len, dim))

    def feed_forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))

    def forward(self, x, src_key_padding_mask=None):
        """x: (batch, seq, d_model); src_key_padding_mask: (batch, seq), bool, True = <pad>"""
        x = self.norm1(x + self.self_attn(x, src_key_padding_mask))
        return self.norm2(x + self.feed_forward(x))
