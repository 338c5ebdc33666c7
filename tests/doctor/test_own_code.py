"""Our own attention, examined as anyone's is."""

import pytest
from torch import nn

import regard
from regard import layers, reference, scores
from regard.doctor import diagnose
from regard.layers.decoders.decoder import DecoderState

ADDITIVE = dict(query_dim=11, key_dim=13, attn_dim=19)

SOUND = {
    "attend": regard.attend,
    "Attention": layers.Attention(scores.Bilinear(query_dim=11, key_dim=13)),
    "AdditiveAttention": layers.AdditiveAttention(**ADDITIVE),
    "AdditiveAttention as a class": layers.AdditiveAttention,
    "MultiHeadAttention": layers.MultiHeadAttention(16, 4),
    "MultiHeadAttention as a class": layers.MultiHeadAttention,
    "Additive": scores.Additive(**ADDITIVE),
    "Bilinear": scores.Bilinear(query_dim=11, key_dim=13),
    "Concat": scores.Concat(**ADDITIVE),
    "Dot": scores.Dot(),
    "ScaledDot": scores.ScaledDot(),
    "reference.dot_attention": reference.dot_attention,
    "reference.general_attention": reference.general_attention,
    "reference.additive_attention": reference.additive_attention,
    "reference.concat_attention": reference.concat_attention,
    "reference.scaled_dot_attention": reference.scaled_dot_attention,
    "reference.multi_head_attention": reference.multi_head_attention,
}


class Stepping(nn.Module):
    """One step of a decoder. token (B,), hidden (B, H), encoder_outputs (B, T, D)"""

    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, token, hidden, encoder_outputs):
        key = self.decoder.score.prepare(encoder_outputs)
        state = DecoderState((hidden[None],), encoder_outputs, key, may_attend=None)
        step = self.decoder.step(token, state, need_weights=True)
        return step.logits, step.weights


class BahdanauStep(Stepping):
    """Bahdanau attention, one step. token (B,), hidden (B, H), encoder_outputs (B, T, D)"""


class LuongStep(Stepping):
    """Luong attention, one step. token (B,), hidden (B, H), encoder_outputs (B, T, D)"""


SIZES = dict(vocab_size=29, embed_dim=23, hidden_dim=11, state_dim=13, cell="gru")
SOUND |= {
    "BahdanauDecoder": BahdanauStep(
        layers.BahdanauDecoder(**SIZES, score=scores.Additive(**ADDITIVE))
    ),
    "LuongDecoder": LuongStep(
        layers.LuongDecoder(**SIZES, score=scores.Bilinear(query_dim=11, key_dim=13))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_our_own_code_is_sound(name):
    report = diagnose(SOUND[name], isolate=False)
    assert (report.status, report.question, report.findings) == (0, "", ())
