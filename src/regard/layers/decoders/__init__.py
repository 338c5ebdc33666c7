"""Decoders: without attention, with Bahdanau's, with Luong's."""

from regard.layers.decoders.bahdanau import BahdanauDecoder
from regard.layers.decoders.decoder import Decoded, Decoder, DecoderState, Step
from regard.layers.decoders.fixed import FixedContextDecoder
from regard.layers.decoders.luong import LuongDecoder

__all__ = [
    "BahdanauDecoder",
    "Decoded",
    "Decoder",
    "DecoderState",
    "FixedContextDecoder",
    "LuongDecoder",
    "Step",
]
