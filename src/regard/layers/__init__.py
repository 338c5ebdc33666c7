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
from regard.layers.logits import TiedLogits
from regard.layers.multi_head import MultiHeadAttention, OutputAndWeights
from regard.layers.positions import POSITIONS, LearnedPositions, SinusoidalPositions
from regard.layers.prepared_key_value import PreparedKeyValue
from regard.layers.recurrence import CELLS
from regard.layers.transformer_decoder import TransformerDecoder, TransformerState
from regard.layers.transformer_encoder import TransformerEncoded, TransformerEncoder
from regard.layers.transformer_layers import (
    NORMS,
    AddAndNorm,
    FeedForward,
    LayerOutput,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)

__all__ = [
    "CELLS",
    "NORMS",
    "POSITIONS",
    "AddAndNorm",
    "AdditiveAttention",
    "Attention",
    "BahdanauDecoder",
    "ContextAndWeights",
    "Decoded",
    "Decoder",
    "DecoderState",
    "Encoded",
    "FeedForward",
    "FixedContextDecoder",
    "LayerOutput",
    "LearnedPositions",
    "LockedDropout",
    "LuongDecoder",
    "MultiHeadAttention",
    "OutputAndWeights",
    "PreparedKeyValue",
    "RecurrentEncoder",
    "SinusoidalPositions",
    "Step",
    "TiedLogits",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoded",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TransformerState",
    "WindowEmbedding",
    "dropout_from",
    "scale_dropout",
]
