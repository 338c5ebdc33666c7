"""The decoder without attention: one fixed vector carries the whole source."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.layers.borders import check_recurrent, check_switches
from regard.layers.decoders.borders import check_encoded, check_step, check_target, embed
from regard.layers.decoders.decoder import (
    Decoded,
    Decoder,
    DecoderState,
    InitialState,
    MaxoutReadout,
    Step,
)
from regard.layers.dropout import LockedDropout
from regard.layers.encoder import Encoded
from regard.layers.recurrence import Recurrence


class FixedContextDecoder(Decoder):
    r"""``s(t) = cell([e(y(t−1)) ; c], s(t−1))`` with the same c at every step: the bottleneck.

    c is the encoder's final state, the whole source in one vector. (Cho et al. 2014,
    arXiv:1406.1078, section 2.2.)

    Args:
        vocab_size, embed_dim, hidden_dim, num_layers, cell, dropout: of the decoder.
        state_dim: width of the encoder's states.
        residual: each layer but the first adds what it reads to what it gives.
        tied_embeddings: the output's weights are the embeddings; see :class:`TiedLogits`.

    Raises:
        TypeError: a size that is no whole number, a dropout that is no number.
        ValueError: a number out of its range, an unknown cell.

    >>> from regard.layers import RecurrentEncoder
    >>> encoder = RecurrentEncoder(vocab_size=10, embed_dim=4, hidden_dim=3)
    >>> decoder = FixedContextDecoder(vocab_size=9, embed_dim=4, hidden_dim=5, state_dim=6)
    >>> encoded = encoder(torch.tensor([[5, 6, 7]]), torch.tensor([3]))
    >>> decoder(encoded, torch.tensor([[2, 4]])).logits.shape
    torch.Size([1, 2, 9])
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        embed_dim: int,
        hidden_dim: int,
        state_dim: int,
        num_layers: int = 1,
        cell: str = "gru",
        dropout: float = 0.0,
        residual: bool = False,
        tied_embeddings: bool = False,
    ) -> None:
        super().__init__()
        check_recurrent(
            self._name,
            vocab_size=vocab_size,
            embed_dim=embed_dim,
            hidden_dim=hidden_dim,
            state_dim=state_dim,
            num_layers=num_layers,
            cell=cell,
            dropout=dropout,
        )
        check_switches(self._name, residual=residual, tied_embeddings=tied_embeddings)
        self.state_dim = state_dim
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.dropout = LockedDropout(dropout)
        self.initial = InitialState(
            cell=cell, state_dim=state_dim, hidden_dim=hidden_dim, num_layers=num_layers
        )
        self.recurrence = Recurrence(
            cell=cell,
            input_dim=embed_dim + state_dim,
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            dropout=dropout,
            residual=residual,
        )
        self.readout = MaxoutReadout(
            hidden_dim=hidden_dim,
            embedding=self.embedding,
            context_dim=state_dim,
            dropout=dropout,
            tied_embeddings=tied_embeddings,
        )

    def begin(self, encoded: Encoded) -> DecoderState:
        """The initial hidden state, and the fixed context: the summary."""
        check_encoded(encoded, state_dim=self.state_dim, caller=self._name)
        return DecoderState(
            hidden=self.initial(encoded.final),
            value=encoded.states,
            key=None,
            may_attend=encoded.may_attend,
            summary=encoded.final[-1],
        )

    def step(
        self, tokens: Int[Tensor, " batch"], state: DecoderState, *, need_weights: bool = False
    ) -> Step:
        """Read one token per example and predict the next. There are no weights to return."""
        check_step(tokens, state, caller=self._name)
        logits, state = self._read(tokens[:, None], state)
        return Step(logits.squeeze(1), None, state)

    def forward(
        self,
        encoded: Encoded,
        tokens: Int[Tensor, "batch target_len"],
        *,
        need_weights: bool = False,
    ) -> Decoded:
        """Read whole targets. There are no weights to return."""
        state = self.begin(encoded)
        check_target(tokens, encoded, caller=self._name)
        logits, _ = self._read(tokens, state)
        return Decoded(logits, None)

    def _read(
        self, tokens: Int[Tensor, "batch target_len"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch target_len vocab"], DecoderState]:
        embedded = self.dropout(embed(self.embedding, tokens, caller=self._name))
        assert state.summary is not None
        context = state.summary[:, None].expand(-1, tokens.shape[1], -1)
        outputs, hidden = self.recurrence(torch.cat([embedded, context], dim=-1), state.hidden)
        return self.readout(outputs, embedded, context), state._replace(hidden=hidden)
