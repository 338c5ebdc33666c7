"""Luong's decoder: step, then look with the state *after* it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.scores import Score
from regard.kernels.dispatch import attend
from regard.layers.borders import check_recurrent, check_switches
from regard.layers.decoders.borders import (
    check_encoded,
    check_score,
    check_step,
    check_target,
    embed,
)
from regard.layers.decoders.decoder import Decoded, Decoder, DecoderState, InitialState, Step
from regard.layers.dropout import LockedDropout
from regard.layers.encoder import Encoded
from regard.layers.logits import make_logits
from regard.layers.recurrence import Recurrence


class LuongDecoder(Decoder):
    r"""Attention after the step.

    .. math:: s_t = \mathrm{rnn}(e(y_{t-1}), s_{t-1}), \quad c_t = \mathrm{attend}(s_t, h), \quad
              \tilde s_t = \tanh(W [c_t; s_t]), \quad p(y_t) = \mathrm{softmax}(W_o \tilde s_t)

    The weights of step t depend on s(t), so the token read at step t moves them. Without input
    feeding nothing of attention enters the recurrence, and a whole target runs, and attends, in
    one call. With it, the cell also reads the attentional state of the step before.
    (Luong et al. 2015, arXiv:1508.04025, equations 5 and 6, sections 3.1 and 3.3.)

    Args:
        vocab_size, embed_dim, hidden_dim, num_layers, cell, dropout: of the decoder.
        state_dim: width of the encoder's states.
        score: any score of query width ``hidden_dim`` and key width ``state_dim``.
        input_feeding: feed the attentional state to the next step.
        source_summary: the cell also reads the encoder's final state at every step, as
            :class:`FixedContextDecoder` does, which is not in the paper: attention says what is
            here, the summary what the whole was.
        residual: each layer but the first adds what it reads to what it gives.
        tied_embeddings: the output's weights are the embeddings; see :class:`TiedLogits`.

    Raises:
        TypeError: a size that is no whole number, a dropout that is no number, no score, or no
            switch.
        ValueError: a number out of its range, an unknown cell, or a score for other widths.

    >>> from regard import scores
    >>> from regard.layers import RecurrentEncoder
    >>> encoder = RecurrentEncoder(vocab_size=10, embed_dim=4, hidden_dim=3)
    >>> score = scores.Bilinear(query_dim=5, key_dim=6)
    >>> decoder = LuongDecoder(vocab_size=9, embed_dim=4, hidden_dim=5, state_dim=6, score=score)
    >>> encoded = encoder(torch.tensor([[5, 6, 7]]), torch.tensor([3]))
    >>> decoder(encoded, torch.tensor([[2, 4]]), need_weights=True).weights.shape
    torch.Size([1, 2, 3])
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        embed_dim: int,
        hidden_dim: int,
        state_dim: int,
        score: Score,
        num_layers: int = 1,
        cell: str = "lstm",
        dropout: float = 0.0,
        input_feeding: bool = False,
        source_summary: bool = False,
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
        check_switches(
            self._name,
            input_feeding=input_feeding,
            source_summary=source_summary,
            residual=residual,
            tied_embeddings=tied_embeddings,
        )
        check_score(score, hidden_dim=hidden_dim, state_dim=state_dim, caller=self._name)
        self.state_dim = state_dim
        self.hidden_dim = hidden_dim
        self.input_feeding, self.source_summary = input_feeding, source_summary
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.dropout = LockedDropout(dropout)
        self.score = score
        self.initial = InitialState(
            cell=cell, state_dim=state_dim, hidden_dim=hidden_dim, num_layers=num_layers
        )
        self.recurrence = Recurrence(
            cell=cell,
            input_dim=embed_dim
            + (state_dim if source_summary else 0)
            + (hidden_dim if input_feeding else 0),
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            dropout=dropout,
            residual=residual,
        )
        self.to_attentional = nn.Linear(state_dim + hidden_dim, hidden_dim)
        self.to_logits = make_logits(hidden_dim, self.embedding, tied=tied_embeddings)

    def begin(self, encoded: Encoded) -> DecoderState:
        """The initial hidden state, and the encoder's states prepared once for every step."""
        check_encoded(encoded, state_dim=self.state_dim, caller=self._name)
        carried = encoded.states.new_zeros(encoded.states.shape[0], self.hidden_dim)
        return DecoderState(
            hidden=self.initial(encoded.final),
            value=encoded.states,
            key=self.score.prepare(encoded.states, encoded.may_attend),
            may_attend=encoded.may_attend,
            carried=carried if self.input_feeding else None,
            summary=encoded.final[-1] if self.source_summary else None,
        )

    def step(
        self, tokens: Int[Tensor, " batch"], state: DecoderState, *, need_weights: bool = False
    ) -> Step:
        """Read one token per example and predict the next."""
        check_step(tokens, state, caller=self._name)
        embedded = self.dropout(embed(self.embedding, tokens[:, None], caller=self._name))
        attentional, weights, state = self._read(embedded, state, need_weights)
        logits = self.to_logits(self.dropout(attentional)).squeeze(1)
        return Step(logits, None if weights is None else weights.squeeze(1), state)

    def forward(
        self,
        encoded: Encoded,
        tokens: Int[Tensor, "batch target_len"],
        *,
        need_weights: bool = False,
    ) -> Decoded:
        """Read whole targets, in one call unless input feeding ties each step to the last."""
        state = self.begin(encoded)
        check_target(tokens, encoded, caller=self._name)
        embedded = self.dropout(embed(self.embedding, tokens, caller=self._name))
        pieces = embedded.split(1, dim=1) if self.input_feeding else (embedded,)
        attentionals, weights = [], []
        for piece in pieces:
            attentional, piece_weights, state = self._read(piece, state, need_weights)
            attentionals.append(attentional)
            weights.append(piece_weights)
        logits = self.to_logits(self.dropout(torch.cat(attentionals, dim=1)))
        return Decoded(logits, torch.cat(weights, dim=1) if need_weights else None)  # type: ignore[arg-type]

    def _read(
        self,
        embedded: Float[Tensor, "batch target_len embed_dim"],
        state: DecoderState,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None, DecoderState]:
        inputs = [embedded]
        for constant in (state.summary, state.carried):
            if constant is not None:  # for this whole piece, which with input feeding is one step
                inputs.append(constant[:, None].expand(-1, embedded.shape[1], -1))
        outputs, hidden = self.recurrence(torch.cat(inputs, dim=-1), state.hidden)
        assert state.key is not None
        context, weights, _ = attend(
            outputs.to(state.value.dtype),  # s(t); autocast mixes dtypes
            state.key,
            state.value,
            score=self.score,
            may_attend=state.may_attend,
            need_weights=need_weights,
        )
        attentional = torch.tanh(self.to_attentional(torch.cat([context, outputs], dim=-1)))
        carried = attentional[:, -1] if self.input_feeding else None
        return attentional, weights, state._replace(hidden=hidden, carried=carried)
