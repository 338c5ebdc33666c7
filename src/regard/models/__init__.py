"""Encoder-decoders, composed of layers; no mathematics of their own."""

from regard.models.config import ATTENTIONS, DECODERS, Seq2SeqConfig
from regard.models.families import MODELS
from regard.models.folder import ModelFolderError
from regard.models.seq2seq import Seq2Seq
from regard.models.transformer_config import TransformerConfig
from regard.models.translator import Side, Translator

__all__ = [
    "ATTENTIONS",
    "DECODERS",
    "MODELS",
    "ModelFolderError",
    "Seq2Seq",
    "Seq2SeqConfig",
    "Side",
    "TransformerConfig",
    "Translator",
]
