import torch
from torch import nn


def transpose_qkv(X, num_heads):
    X = X.reshape(X.shape[0], X.shape[1], num_heads, -1).permute(0, 2, 1, 3)
    return X.reshape(-1, X.shape[2], X.shape[3])


def transpose_output(X, num_heads):
    X = X.reshape(-1, num_heads, X.shape[1], X.shape[2]).permute(0, 2, 1, 3)
    return X.reshape(X.shape[0], X.shape[1], -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, num_hiddens, num_heads, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def forward(self, queries, keys, values, valid_lens=None):
        queries = transpose_qkv(self.W_q(queries), self.num_heads)
        keys = transpose_qkv(self.W_k(keys), self.num_heads)
        values = transpose_qkv(self.W_v(values), self.num_heads)
        scores = torch.bmm(queries, keys.transpose(1, 2)) / queries.shape[-1] ** 0.5
        if valid_lens is not None:
            valid_lens = torch.repeat_interleave(valid_lens, self.num_heads)
            pad = torch.arange(scores.shape[2])[None, :] >= valid_lens[:, None]
            scores = scores.masked_fill(pad[:, None, :], -1e6)
        output = torch.bmm(torch.softmax(scores, dim=-1), values)
        return self.W_o(transpose_output(output, self.num_heads))
