"""What a transformer is made of, as plain data."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from regard.core.fields import SHARE, between, check_fields
from regard.core.scores import NAMES
from regard.layers import NORMS, POSITIONS
from regard.models.model_config import Layers, ModelConfig, NumIds, Width, Window, check_choice

_MAX_LEN = 512


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(ModelConfig):
    """Sizes and choices of a :class:`Seq2Seq` that is a transformer.

    The defaults are sizes that a CPU trains in minutes; Vaswani et al. (2017, arXiv:1706.03762,
    table 3) have 6 layers of each, 512 wide with 8 heads and ``ff_dim`` 2048, ``norm="post"``.

    Args:
        source_vocab_size, target_vocab_size: numbers of token ids.
        attention: the score of every head, by name; each has its own parameters.
        embed_dim: width of every position, in all layers.
        num_heads: of each attention; it divides ``embed_dim``.
        ff_dim: width inside the feed-forward networks. None for four times ``embed_dim``.
        encoder_layers, decoder_layers: of each.
        norm: ``"pre"`` or ``"post"``: normalize what each part of a layer reads, or what comes of
            it.
        positions: ``"sinusoidal"`` or ``"learned"``.
        max_len: the longest source and target that learned positions serve; None for 512.
        window: tokens that the encoder embeds together, odd: 1 is the paper's; letters are learned
            faster with 5.
        dropout: on embeddings, on what each part adds, inside the feed-forward networks, before the
            output, and on the weights of attention; training rises to it from 0.
        tied_embeddings: the weights of the output are the embeddings of the target.

    Raises:
        TypeError: a value of another type than its field's.
        ValueError: an unknown name, a number out of its range, or choices that exclude each other.
    """

    model: ClassVar[str] = "transformer"

    source_vocab_size: NumIds
    target_vocab_size: NumIds
    attention: str = "scaled_dot"
    embed_dim: Width = 128
    num_heads: Annotated[int, between(1, 4096)] = 4
    ff_dim: Annotated[int, between(1, 65_536)] | None = None
    encoder_layers: Layers = 3
    decoder_layers: Layers = 3
    norm: str = "pre"
    positions: str = "sinusoidal"
    max_len: Annotated[int, between(1, 1_000_000)] | None = None
    window: Window = 1
    dropout: Annotated[float, SHARE] = 0.1
    tied_embeddings: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.attention == "none":
            raise ValueError(
                "attention='none' with model='transformer'. A transformer is made of attention. "
                "Choose a score, 'uniform' for a plain average, or model='rnn'."
            )
        check_choice("attention", self.attention, NAMES)
        check_choice("norm", self.norm, NORMS)
        check_choice("positions", self.positions, POSITIONS)
        if self.embed_dim % self.num_heads:
            near = max(1, round(self.embed_dim / self.num_heads)) * self.num_heads
            raise ValueError(
                f"embed_dim={self.embed_dim} and num_heads={self.num_heads}. Each head is an equal "
                f"part of the width. Choose num_heads that divides it, or embed_dim={near}."
            )
        if self.max_len is not None and self.positions != "learned":
            raise ValueError(
                f"max_len={self.max_len} with positions={self.positions!r}. Only learned positions "
                "have a longest sequence. Leave max_len out, or choose positions='learned'."
            )

    @property
    def inner_dim(self) -> int:
        """Width inside the feed-forward networks: d_ff."""
        return 4 * self.embed_dim if self.ff_dim is None else self.ff_dim

    @property
    def longest(self) -> int:
        """Positions that learned ones have."""
        return _MAX_LEN if self.max_len is None else self.max_len

    def description(self) -> str:
        """What this is, in a line for people."""
        return (
            f"transformer, {self.attention} attention, {self.num_heads} heads, width "
            f"{self.embed_dim}, layers {self.encoder_layers}+{self.decoder_layers}"
        )

    def to_json(self) -> dict[str, Any]:
        """The fields as plain data, with sizes in place of None: a default may change one day."""
        max_len = self.longest if self.positions == "learned" else None
        return super().to_json() | {"ff_dim": self.inner_dim, "max_len": max_len}
