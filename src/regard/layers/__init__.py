"""Modules with weights: encoders and decoders."""

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
from regard.layers.recurrence import CELLS

__all__ = [
    "CELLS",
    "BahdanauDecoder",
    "Decoded",
    "Decoder",
    "DecoderState",
    "Encoded",
    "FixedContextDecoder",
    "LockedDropout",
    "LuongDecoder",
    "RecurrentEncoder",
    "Step",
    "WindowEmbedding",
    "dropout_from",
    "scale_dropout",
]
