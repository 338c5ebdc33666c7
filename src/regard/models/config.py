"""What a recurrent encoder-decoder is made of, as plain data."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from regard.core.fields import SHARE, check_fields
from regard.core.scores import NAMES
from regard.layers import CELLS
from regard.models.model_config import Layers, ModelConfig, NumIds, Width, Window, check_choice

ATTENTIONS = (*NAMES, "none")
DECODERS = ("bahdanau", "luong")
_WITH_ATTN_DIM = ("additive", "concat")


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig(ModelConfig):
    """Sizes and choices of a recurrent :class:`Seq2Seq`.

    Args:
        source_vocab_size, target_vocab_size: numbers of token ids.
        attention: a score by name, or ``"none"`` for the fixed context.
        decoder: ``"bahdanau"`` queries with s(t−1), ``"luong"`` with s(t). Without attention
            there is nothing to query, and it stays at ``"bahdanau"``.
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
        residual: with several layers, each but the first adds what it reads to what it gives.
        tied_embeddings: the weights of the output are the embeddings of the target.

    Raises:
        TypeError: a value of another type than its field's.
        ValueError: an unknown name, a number out of its range, or choices that exclude each other.
    """

    model: ClassVar[str] = "rnn"

    source_vocab_size: NumIds
    target_vocab_size: NumIds
    attention: str = "additive"
    decoder: str = "bahdanau"
    cell: str = "gru"
    embed_dim: Width = 64
    window: Window = 5
    hidden_dim: Width = 256
    encoder_dim: Width | None = None
    attn_dim: Width | None = None
    encoder_layers: Layers = 1
    decoder_layers: Layers = 1
    bidirectional: bool = True
    dropout: Annotated[float, SHARE] = 0.1
    input_feeding: bool = False
    source_summary: bool = True
    residual: bool = True
    tied_embeddings: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_choice("attention", self.attention, ATTENTIONS)
        check_choice("decoder", self.decoder, DECODERS)
        check_choice("cell", self.cell, tuple(CELLS))
        if self.attention == "none" and self.decoder != "bahdanau":
            raise ValueError(
                f"decoder={self.decoder!r} with attention='none'. Without attention the decoder "
                f"reads one fixed context and queries nothing. Leave decoder={self.decoder!r} out, "
                "or choose an attention."
            )
        if self.input_feeding and self.decoder != "luong":
            raise ValueError(
                f"input_feeding with decoder={self.decoder!r} and attention={self.attention!r}. "
                "Input feeding is Luong's: choose decoder='luong' and a score, or leave it out."
            )
        if self.attn_dim is not None and self.attention not in _WITH_ATTN_DIM:
            raise ValueError(
                f"attn_dim={self.attn_dim} with attention={self.attention!r}. Only "
                f"{' and '.join(_WITH_ATTN_DIM)} have a width inside. Leave attn_dim out."
            )
        if self.attention == "none" and not self.source_summary:
            raise ValueError(
                "source_summary=False with attention='none'. Without attention the encoder's final "
                "state is all that the decoder knows of the source. Leave it out."
            )
        if self.attention in ("dot", "scaled_dot") and self.state_dim != self.hidden_dim:
            fix = "Use an even hidden_dim" if self.encoder_dim is None else "Leave encoder_dim out"
            raise ValueError(
                f"attention={self.attention!r} needs encoder states ({self.state_dim} wide) and "
                f"decoder states (hidden_dim={self.hidden_dim}) of one width. {fix}, or choose "
                "attention='general'."
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

    def description(self) -> str:
        """What this is, in a line for people."""
        kind = f"{self.decoder} decoder, {self.attention} attention"
        if self.attention == "none":
            kind = "fixed-context decoder, no attention"
        return (
            f"{kind}, {self.cell} of {self.hidden_dim}, layers "
            f"{self.encoder_layers}+{self.decoder_layers}"
        )

    def to_json(self) -> dict[str, Any]:
        """The fields as plain data, with sizes in place of None: a default may change one day."""
        attn_dim = self.score_dim if self.attention in _WITH_ATTN_DIM else None
        return super().to_json() | {"encoder_dim": self.direction_dim, "attn_dim": attn_dim}
