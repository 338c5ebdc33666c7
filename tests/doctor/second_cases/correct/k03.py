import torch
import torch.nn as nn


class GlobalAttn(nn.Module):
    # everything time first: T x B x *
    def __init__(self, enc_size, dec_size, attn_size):
        super().__init__()
        self.enc_to_attn = nn.Linear(enc_size, attn_size)
        self.dec_to_attn = nn.Linear(dec_size, attn_size, bias=False)
        self.to_score = nn.Linear(attn_size, 1, bias=False)

    def forward(self, dec_h, enc_hs, src_lens):
        # dec_h: B x dec_size, enc_hs: T x B x enc_size, src_lens: B
        T, B, _ = enc_hs.shape
        s = self.to_score(torch.tanh(self.enc_to_attn(enc_hs) + self.dec_to_attn(dec_h)))
        s = s.view(T, B)
        outside = torch.arange(T, device=s.device).unsqueeze(1) >= src_lens.unsqueeze(0)
        a = torch.softmax(s.masked_fill(outside, -1e9), 0)
        return torch.einsum("tb,tbe->be", a, enc_hs), a.t()
