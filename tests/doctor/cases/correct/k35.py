import torch
import torch.nn as nn


class MultiHead(nn.Module):
    def __init__(self, size, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(size, size) for _ in range(4))

    def forward(self, queries, keys, values, valid_lens):
        B, n, _ = queries.shape
        m = keys.shape[1]

        def fold(x):
            return x.view(B, -1, self.h, x.shape[-1] // self.h).transpose(1, 2).flatten(0, 1)

        q, k, v = fold(self.q(queries)), fold(self.k(keys)), fold(self.v(values))
        lens = valid_lens.repeat_interleave(self.h)
        outside = torch.arange(m, device=q.device) >= lens[:, None]
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(outside[:, None], float("-inf"))
        out = scores.softmax(-1) @ v
        return self.o(out.view(B, self.h, n, -1).transpose(1, 2).reshape(B, n, -1))


attention = MultiHead(8, 2).eval()
