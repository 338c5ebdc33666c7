import torch
from torch import nn


class Alignment(nn.Module):
    """alpha_ij and c_i of Bahdanau et al. A sentence may have length 0: then c_i = 0."""

    def __init__(self, state_size, annotation_size, align_size):
        super().__init__()
        self.W_a = nn.Parameter(torch.empty(align_size, state_size))
        self.U_a = nn.Parameter(torch.empty(align_size, annotation_size))
        self.v_a = nn.Parameter(torch.empty(align_size))
        for p in (self.W_a, self.U_a):
            nn.init.xavier_uniform_(p)
        nn.init.normal_(self.v_a, std=0.3)

    def forward(self, s_prev, annotations, sizes):
        hidden = (s_prev @ self.W_a.mT)[:, None] + annotations @ self.U_a.mT
        e = hidden.tanh() @ self.v_a
        alive = torch.arange(e.shape[1], device=e.device) < sizes[:, None]
        e = e.masked_fill(~alive, torch.finfo(e.dtype).min)
        # safe when nothing is alive: the shifted scores are 0, and the product hides them
        w = (e - e.amax(1, keepdim=True)).exp() * alive
        w = w / w.sum(1, keepdim=True).clamp(min=1e-30)
        return torch.einsum("bt,bta->ba", w, annotations), w
