"""The recurrent encoder and decoder that a config describes."""

from typing import Any

from regard.core.scores import make_score
from regard.layers import (
    BahdanauDecoder,
    Decoder,
    FixedContextDecoder,
    LuongDecoder,
    RecurrentEncoder,
)
from regard.models.config import Seq2SeqConfig


def recurrent_encoder(config: Seq2SeqConfig) -> RecurrentEncoder:
    """Its encoder."""
    return RecurrentEncoder(
        vocab_size=config.source_vocab_size,
        embed_dim=config.embed_dim,
        hidden_dim=config.direction_dim,
        num_layers=config.encoder_layers,
        cell=config.cell,
        bidirectional=config.bidirectional,
        dropout=config.dropout,
        window=config.window,
        residual=config.residual,
    )


def recurrent_decoder(config: Seq2SeqConfig) -> Decoder:
    """Its decoder."""
    sizes: dict[str, Any] = {
        "vocab_size": config.target_vocab_size,
        "embed_dim": config.embed_dim,
        "hidden_dim": config.hidden_dim,
        "state_dim": config.state_dim,
        "num_layers": config.decoder_layers,
        "cell": config.cell,
        "dropout": config.dropout,
        "residual": config.residual,
        "tied_embeddings": config.tied_embeddings,
    }
    if config.attention == "none":
        return FixedContextDecoder(**sizes)
    score = make_score(
        config.attention,
        query_dim=config.hidden_dim,
        key_dim=config.state_dim,
        attn_dim=config.score_dim,
    )
    sizes |= {"score": score, "source_summary": config.source_summary}
    if config.decoder == "luong":
        return LuongDecoder(**sizes, input_feeding=config.input_feeding)
    return BahdanauDecoder(**sizes)
