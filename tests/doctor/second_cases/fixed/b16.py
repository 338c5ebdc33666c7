import torch.nn as nn
import torch.nn.functional as F


class DotAttention(nn.Module):
    """Pools a document with a learned question. q: [b, m, d], k: [b, n, d], v: [b, n, e]"""

    def __init__(self, p: float = 0.2):
        super().__init__()
        self.p = p

    def forward(self, q, k, v):
        w = F.softmax((q / q.size(-1) ** 0.5) @ k.mT, dim=-1)
        return F.dropout(w, self.p, self.training) @ v, w
