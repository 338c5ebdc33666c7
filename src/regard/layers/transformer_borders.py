"""What the encoder and the decoder of a transformer refuse, in words."""

from regard.core.sizes import check_sizes
from regard.layers.dropout import check_dropout
from regard.layers.transformer_layers import NORMS


def check_transformer(caller: str, *, norm: object, dropout: object, **sizes: object) -> None:
    """What every transformer encoder and decoder is built from.

    Raises:
        TypeError: a size that is no whole number, a dropout that is no number.
        ValueError: a size or a dropout out of its range, an unknown norm.
    """
    check_sizes(caller, **sizes)
    if norm not in NORMS:
        raise ValueError(f"{caller}: norm={norm!r} is unknown. Choose one of: {', '.join(NORMS)}.")
    check_dropout(dropout, caller=caller)
