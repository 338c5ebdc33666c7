from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, decoder_dim, encoder_dim, attn_dim):
        super().__init__()
        self.dec_proj = nn.Linear(decoder_dim, attn_dim)
        self.enc_proj = nn.Linear(encoder_dim, attn_dim, bias=False)
        self.energy = nn.Linear(attn_dim, 1)

    def forward(self, s, enc):
        """-> (alpha of shape (B, T), context of shape (B, encoder_dim))"""
        mix = self.enc_proj(enc)
        mix += self.dec_proj(s).unsqueeze(1)
        alpha = self.energy(mix.tanh_()).flatten(1).softmax(1)
        return alpha, (alpha.unsqueeze(1) @ enc).squeeze(1)
