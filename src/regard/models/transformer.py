"""The transformer's encoder and decoder that a config describes."""

from typing import Any

from regard.layers import TransformerDecoder, TransformerEncoder
from regard.models.transformer_config import TransformerConfig


def transformer_encoder(config: TransformerConfig) -> TransformerEncoder:
    """Its encoder."""
    return TransformerEncoder(
        vocab_size=config.source_vocab_size,
        num_layers=config.encoder_layers,
        window=config.window,
        **_alike(config),
    )


def transformer_decoder(config: TransformerConfig) -> TransformerDecoder:
    """Its decoder."""
    return TransformerDecoder(
        vocab_size=config.target_vocab_size,
        num_layers=config.decoder_layers,
        tied_embeddings=config.tied_embeddings,
        **_alike(config),
    )


def _alike(config: TransformerConfig) -> dict[str, Any]:
    return {
        "embed_dim": config.embed_dim,
        "num_heads": config.num_heads,
        "ff_dim": config.inner_dim,
        "norm": config.norm,
        "positions": config.positions,
        "max_len": config.longest,
        "score": config.attention,
        "dropout": config.dropout,
    }
