"""What an encoder-decoder is made of, as plain data."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from regard.core.scores import NAMES
from regard.layers import CELLS

ATTENTIONS = (*NAMES, "none")
DECODERS = ("bahdanau", "luong")


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """Sizes and choices of a :class:`Seq2Seq`.

    Args:
        source_vocab_size, target_vocab_size: numbers of token ids.
        attention: a score by name, or ``"none"`` for the fixed context.
        decoder: ``"bahdanau"`` queries with s(t−1), ``"luong"`` with s(t). Without attention it
            does not matter.
        cell: ``"gru"`` or ``"lstm"``.
        embed_dim: width of embeddings.
        window: tokens that the encoder embeds together, odd: 5 suits letters, 1 words.
        hidden_dim: width of the decoder's state.
        encoder_dim: width of one direction of the encoder. None for three quarters of
            ``hidden_dim``; for the dot scores, which need encoder and decoder states of one width,
            what makes them so.
        attn_dim: width inside the additive and concat scores; None for half of ``hidden_dim``.
        encoder_layers, decoder_layers: recurrent layers of each.
        bidirectional: whether the encoder also reads backwards.
        dropout: on embeddings, between layers, and before the output; training rises to it from 0.
        input_feeding: Luong's decoder also reads the attentional state of the step before.
        source_summary: a decoder with attention also reads the encoder's final state at every step,
            as the one without attention does. The papers' decoders do not.

    Raises:
        ValueError: an unknown name, a size below 1, or choices that exclude each other.
    """

    source_vocab_size: int
    target_vocab_size: int
    attention: str = "additive"
    decoder: str = "bahdanau"
    cell: str = "gru"
    embed_dim: int = 64
    window: int = 5
    hidden_dim: int = 256
    encoder_dim: int | None = None
    attn_dim: int | None = None
    encoder_layers: int = 1
    decoder_layers: int = 1
    bidirectional: bool = True
    dropout: float = 0.1
    input_feeding: bool = False
    source_summary: bool = True

    def __post_init__(self) -> None:
        for name, choices in (("attention", ATTENTIONS), ("decoder", DECODERS), ("cell", CELLS)):
            given = getattr(self, name)
            if given not in choices:
                raise ValueError(
                    f"{name}={given!r} is unknown. Choose one of: {', '.join(choices)}."
                )
        for field in fields(self):
            given = getattr(self, field.name)
            if field.name.endswith(("_dim", "_size", "_layers")) and not _is_size(given):
                raise ValueError(
                    f"{field.name}={given!r}. It is a size: give a whole number of at least 1."
                )
        if not isinstance(self.window, int) or self.window < 1 or self.window % 2 == 0:
            raise ValueError(
                f"window={self.window!r}. The token is in its middle: give an odd number, 1 for "
                "the token alone."
            )
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(
                f"dropout={self.dropout}. It is a probability, at least 0 and below 1. "
                "Use 0.0 for no dropout."
            )
        if self.input_feeding and (self.decoder != "luong" or self.attention == "none"):
            raise ValueError(
                f"input_feeding with decoder={self.decoder!r} and attention={self.attention!r}. "
                "Input feeding is Luong's: choose decoder='luong' and a score, or leave it out."
            )
        if self.attention in ("dot", "scaled_dot") and self.state_dim != self.hidden_dim:
            raise ValueError(
                f"attention={self.attention!r} needs encoder states ({self.state_dim} wide) and "
                f"decoder states (hidden_dim={self.hidden_dim}) of one width. Use an even "
                "hidden_dim and leave encoder_dim out, or choose attention='general'."
            )

    @property
    def num_directions(self) -> int:
        """In which the encoder reads."""
        return 2 if self.bidirectional else 1

    @property
    def direction_dim(self) -> int:
        """Width of one direction of the encoder."""
        if self.encoder_dim is not None:
            return self.encoder_dim
        if self.attention in ("dot", "scaled_dot"):
            return max(1, self.hidden_dim // self.num_directions)
        return max(1, self.hidden_dim * 3 // 4)

    @property
    def score_dim(self) -> int:
        """Width inside the additive and concat scores: d_attn."""
        return max(1, self.hidden_dim // 2) if self.attn_dim is None else self.attn_dim

    @property
    def state_dim(self) -> int:
        """Width of the encoder's states: d_h."""
        return self.direction_dim * self.num_directions

    def to_json(self) -> dict[str, Any]:
        """The fields as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> "Seq2SeqConfig":
        """From plain data.

        Raises:
            ValueError: it is not a dict, or has a field that is missing, unknown or wrong.
        """
        if not isinstance(data, dict):
            raise ValueError(f"a model's config must be a JSON object, not {type(data).__name__}.")
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise ValueError(
                f"the config has unknown fields: {', '.join(unknown)}. "
                f"Known are: {', '.join(sorted(known))}."
            )
        try:
            return cls(**data)
        except TypeError as error:  # a missing field, or a value that does not compare
            raise ValueError(f"the config cannot be used: {error}.") from None


def _is_size(given: object) -> bool:
    return given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 1)
