"""The decoder of a transformer, step by step or on whole targets."""

from collections.abc import Iterable
from typing import NamedTuple, cast

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.errors import shape_text, shapes_text
from regard.layers.borders import check_switches, check_whole_ids
from regard.layers.decoders.borders import check_target, embed
from regard.layers.decoders.decoder import Decoded, Decoder, Step
from regard.layers.dropout import LockedDropout
from regard.layers.logits import make_logits
from regard.layers.positions import make_positions
from regard.layers.prepared_key_value import PreparedKeyValue
from regard.layers.transformer_borders import check_transformer
from regard.layers.transformer_encoder import TransformerEncoded
from regard.layers.transformer_layers import TransformerDecoderLayer


class TransformerState(NamedTuple):
    """All that one step hands to the next. A value: nothing is kept on the module."""

    sources: tuple[PreparedKeyValue, ...]
    """The encoder's states, as the cross-attention of each layer compares and averages them."""
    past: tuple[PreparedKeyValue, ...] = ()
    """The target so far, as each layer's self-attention does; empty before the first step."""

    @property
    def num_tokens(self) -> int:
        """Tokens read so far."""
        return self.past[0].key_len if self.past else 0

    def index_select(self, rows: Int[Tensor, " rows"]) -> "TransformerState":
        """The state of some examples, in this order, perhaps more than once."""
        sources = tuple(source.index_select(rows) for source in self.sources)
        return self.reorder(rows)._replace(sources=sources)

    def reorder(self, parents: Int[Tensor, " batch"]) -> "TransformerState":
        """The state in which each example continues ``parents[example]``, of the same source.

        What belongs to the source stays as it is, which spares a copy of it at each step of a beam
        search; only the target so far moves.
        """
        return self._replace(past=tuple(past.index_select(parents) for past in self.past))


class TransformerDecoder(Decoder):
    """Embeddings and positions, then layers of self-attention, attention to the source, and more.

    (Vaswani et al. 2017, arXiv:1706.03762, section 3.1.) No position sees a later one. The weights
    it returns are those of the last layer's attention to the source, averaged over its heads; every
    layer's and head's, of self-attention too, are seen by :func:`regard.record`.

    Args:
        vocab_size, embed_dim, num_heads, ff_dim, num_layers, norm, positions, score, dropout: as of
            :class:`TransformerEncoder`, whose ``embed_dim`` must be the same.
        max_len: the longest target that learned positions serve, its begin token included.
        tied_embeddings: the output's weights are the embeddings; see :class:`TiedLogits`.

    Raises:
        TypeError: a size that is no whole number, a dropout that is no number.
        ValueError: a number out of its range; an unknown norm, positions or score.

    >>> import torch
    >>> from regard.layers import TransformerEncoder
    >>> sizes = {"embed_dim": 8, "num_heads": 2, "ff_dim": 16}
    >>> encoder = TransformerEncoder(vocab_size=10, **sizes)
    >>> decoder = TransformerDecoder(vocab_size=9, **sizes)
    >>> encoded = encoder(torch.tensor([[5, 6, 7]]), torch.tensor([3]))
    >>> decoder(encoded, torch.tensor([[2, 4]]), need_weights=True).weights.shape
    torch.Size([1, 2, 3])
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        embed_dim: int,
        num_heads: int,
        ff_dim: int,
        num_layers: int = 1,
        norm: str = "pre",
        positions: str = "sinusoidal",
        max_len: int = 512,
        score: str = "scaled_dot",
        dropout: float = 0.0,
        tied_embeddings: bool = False,
    ) -> None:
        super().__init__()
        check_transformer(
            self._name,
            vocab_size=vocab_size,
            embed_dim=embed_dim,
            num_heads=num_heads,
            ff_dim=ff_dim,
            num_layers=num_layers,
            norm=norm,
            dropout=dropout,
        )
        check_switches(self._name, tied_embeddings=tied_embeddings)
        self.embed_dim = embed_dim
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.positions = make_positions(positions, embed_dim, max_len=max_len, caller=self._name)
        self.dropout = LockedDropout(dropout)
        self.layers = nn.ModuleList(
            TransformerDecoderLayer(
                embed_dim, num_heads, ff_dim=ff_dim, norm=norm, score=score, dropout=dropout
            )
            for _ in range(num_layers)
        )
        self.final_norm = nn.LayerNorm(embed_dim) if norm == "pre" else nn.Identity()
        self.to_logits = make_logits(embed_dim, self.embedding, tied=tied_embeddings)

    def begin(self, encoded: TransformerEncoded) -> TransformerState:
        """The encoder's states prepared once, for every layer and step.

        Raises:
            TypeError: not a ``TransformerEncoded``.
            ValueError: states of another width than the decoder was built for.
        """
        self._check_encoded(encoded)
        states, may_attend = encoded
        return TransformerState(
            tuple(
                layer.cross_attention.prepare(states, states, may_attend=may_attend)
                for layer in cast(Iterable[TransformerDecoderLayer], self.layers)
            )
        )

    def step(
        self, tokens: Int[Tensor, " batch"], state: TransformerState, *, need_weights: bool = False
    ) -> Step:
        """Read one token per example and predict the next.

        Raises:
            TypeError: not a ``TransformerState``, or not a tensor of whole numbers.
            ValueError: shapes that do not fit, an id that is not the vocabulary's, or more tokens
                than learned positions serve.
        """
        self._check_step(tokens, state)
        decoded, state = self._read(tokens[:, None], state, need_weights)
        logits, weights = decoded
        return Step(logits.squeeze(1), None if weights is None else weights.squeeze(1), state)

    def forward(
        self,
        encoded: TransformerEncoded,
        tokens: Int[Tensor, "batch target_len"],
        *,
        need_weights: bool = False,
    ) -> Decoded:
        """Read whole targets, all positions at once.

        Raises:
            TypeError, ValueError: as :meth:`begin` and :meth:`step`; an empty target.
        """
        state = self.begin(encoded)
        check_target(tokens, encoded, caller=self._name)
        return self._read(tokens, state, need_weights)[0]

    def _read(
        self, tokens: Int[Tensor, "batch target_len"], state: TransformerState, need_weights: bool
    ) -> tuple[Decoded, TransformerState]:
        embedded = embed(self.embedding, tokens, caller=self._name)
        x: Tensor = self.dropout(self.positions(embedded, state.num_tokens))
        weights: Float[Tensor, "batch target_len source_len"] | None = None
        pasts = []
        for index, layer in enumerate(self.layers):
            x, weights, past = layer(
                x,
                state.past[index] if state.past else None,
                state.sources[index],
                need_weights=need_weights and index == len(self.layers) - 1,
            )
            pasts.append(past)
        logits = self.to_logits(self.dropout(self.final_norm(x)))
        return Decoded(logits, weights), state._replace(past=tuple(pasts))

    def _check_encoded(self, encoded: object) -> None:
        if not isinstance(encoded, TransformerEncoded):
            raise TypeError(
                f"{self._name}: encoded is a {type(encoded).__name__}. It must be the "
                "TransformerEncoded that a TransformerEncoder returned, whole. Write "
                "decoder(encoder(source, lengths), tokens)."
            )
        states = encoded.states
        if states.dim() != 3 or states.shape[-1] != self.embed_dim:
            raise ValueError(
                f"{self._name}: encoded has {shapes_text(states=states)}. It must be (batch, "
                f"source_len, embed_dim={self.embed_dim}). Build encoder and decoder with one "
                "embed_dim."
            )

    def _check_step(self, tokens: object, state: object) -> None:
        if not isinstance(state, TransformerState):
            raise TypeError(
                f"{self._name}: state is a {type(state).__name__}. It must be a TransformerState, "
                "from decoder.begin(encoded) or the step before. Write decoder.step(tokens, state)."
            )
        check_whole_ids(tokens, caller=self._name, name="tokens", axes="(batch,)")
        assert isinstance(tokens, Tensor)
        batch = state.sources[0].num_examples
        if tokens.shape[0] != batch:
            raise ValueError(
                f"{self._name}: tokens {shape_text(tokens.shape)} with a state of {batch} "
                "examples. There must be as many targets as sources: no axis is stretched "
                f"silently. Give a batch of {batch}."
            )
