"""Modules with weights: attention layers, encoders and decoders."""

from regard.layers.attention import AdditiveAttention, Attention, ContextAndWeights
from regard.layers.decoders import (
    BahdanauDecoder,
    Decoded,
    Decoder,
    DecoderState,
    FixedContextDecoder,
    LuongDecoder,
    Step,
)
from regard.layers.dropout import LockedDropout, dropout_from, scale_dropout
from regard.layers.embedding import WindowEmbedding
from regard.layers.encoder import Encoded, RecurrentEncoder
from regard.layers.multi_head import MultiHeadAttention, OutputAndWeights
from regard.layers.recurrence import CELLS

__all__ = [
    "CELLS",
    "AdditiveAttention",
    "Attention",
    "BahdanauDecoder",
    "ContextAndWeights",
    "Decoded",
    "Decoder",
    "DecoderState",
    "Encoded",
    "FixedContextDecoder",
    "LockedDropout",
    "LuongDecoder",
    "MultiHeadAttention",
    "OutputAndWeights",
    "RecurrentEncoder",
    "Step",
    "WindowEmbedding",
    "dropout_from",
    "scale_dropout",
]
