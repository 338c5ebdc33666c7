"""Bahdanau's decoder: look with the state *before* the step, then step."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.scores import Additive, Score
from regard.kernels.dispatch import attend
from regard.kernels.recurrent_additive import recurrent_additive
from regard.kernels.watching import watcher
from regard.layers.borders import check_recurrent, check_switches
from regard.layers.cells import ContextCells
from regard.layers.decoders.borders import (
    check_encoded,
    check_score,
    check_step,
    check_target,
    embed,
)
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


class BahdanauDecoder(Decoder):
    r"""Attention before the step.

    .. math:: c_t = \mathrm{attend}(s_{t-1}, h), \quad
              s_t = \mathrm{cell}([e(y_{t-1}); c_t], s_{t-1}), \quad
              p(y_t) = \mathrm{readout}(s_t, e(y_{t-1}), c_t)

    The weights of step t depend on s(t−1), so the token read at step t cannot move them.
    (Bahdanau et al. 2015, arXiv:1409.0473, section 3.1 and appendix A.)

    Args:
        vocab_size, embed_dim, hidden_dim, num_layers, cell, dropout: of the decoder.
        state_dim: width of the encoder's states.
        score: any score of query width ``hidden_dim`` and key width ``state_dim``.
        source_summary: the cell and the readout also read the encoder's final state at every step,
            as :class:`FixedContextDecoder` does, which is not in the paper: attention says what is
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
    >>> score = scores.Additive(query_dim=5, key_dim=6, attn_dim=7)
    >>> decoder = BahdanauDecoder(vocab_size=9, embed_dim=4, hidden_dim=5, state_dim=6, score=score)
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
        cell: str = "gru",
        dropout: float = 0.0,
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
            source_summary=source_summary,
            residual=residual,
            tied_embeddings=tied_embeddings,
        )
        check_score(score, hidden_dim=hidden_dim, state_dim=state_dim, caller=self._name)
        self.state_dim = state_dim
        self.source_summary = source_summary
        summary_dim = state_dim if source_summary else None
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.dropout = LockedDropout(dropout)
        self.score = score
        self.initial = InitialState(
            cell=cell, state_dim=state_dim, hidden_dim=hidden_dim, num_layers=num_layers
        )
        self.cells = ContextCells(
            cell=cell,
            input_dim=embed_dim,
            context_dim=state_dim,
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            dropout=dropout,
            summary_dim=summary_dim,
            residual=residual,
        )
        self.readout = MaxoutReadout(
            hidden_dim=hidden_dim,
            embedding=self.embedding,
            context_dim=state_dim,
            dropout=dropout,
            tied_embeddings=tied_embeddings,
            summary_dim=summary_dim,
        )

    def begin(self, encoded: Encoded) -> DecoderState:
        """The initial hidden state, and the encoder's states prepared once for every step."""
        check_encoded(encoded, state_dim=self.state_dim, caller=self._name)
        return DecoderState(
            hidden=self.initial(encoded.final),
            value=encoded.states,
            key=self.score.prepare(encoded.states, encoded.may_attend),
            may_attend=encoded.may_attend,
            summary=encoded.final[-1] if self.source_summary else None,
        )

    def step(
        self, tokens: Int[Tensor, " batch"], state: DecoderState, *, need_weights: bool = False
    ) -> Step:
        """Read one token per example and predict the next."""
        check_step(tokens, state, caller=self._name)
        embedded = self.dropout(embed(self.embedding, tokens, caller=self._name))
        context, weights, state = self._advance(
            self.cells.project_inputs(embedded, state.summary), state, need_weights
        )
        logits = self.readout(self.cells.top(state.hidden), embedded, context, state.summary)
        return Step(logits, weights, state)

    def forward(
        self,
        encoded: Encoded,
        tokens: Int[Tensor, "batch target_len"],
        *,
        need_weights: bool = False,
    ) -> Decoded:
        """Read whole targets: only what depends on the step before stays inside the loop."""
        state = self.begin(encoded)
        check_target(tokens, encoded, caller=self._name)
        embedded = self.dropout(embed(self.embedding, tokens, caller=self._name))
        summary = None if state.summary is None else state.summary[:, None]
        read = self._read_in_one_node if self._is_classical() else self._read_step_by_step
        projected = self.cells.project_inputs(embedded, summary)
        states, contexts, weights = read(projected, state, need_weights)
        return Decoded(self.readout(states, embedded, contexts, summary), weights)

    def _is_classical(self) -> bool:
        """Whether this is the paper's own decoder, for which there is a faster recurrence."""
        return (
            type(self.score) is Additive
            and self.score.num_heads is None
            and self.cells.cell == "gru"
            and self.cells.num_layers == 1
            and watcher() is None  # which sees attention, not recurrences
        )

    def _read_in_one_node(
        self,
        projected: Float[Tensor, "batch target_len gates_dim"],
        state: DecoderState,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        score, key = self.score, state.key
        assert isinstance(score, Additive)
        assert key is not None
        from_state = self.cells.from_state[0]
        assert isinstance(from_state, nn.Linear)
        scores_shape = (*state.value.shape[:1], 1, *state.value.shape[1:2])
        found = recurrent_additive(
            projected,
            state.hidden[0][0],
            key=key.projected if score.bias is None else key.projected + score.bias,
            value=state.value,
            v=score.scoring_vector(),
            query_weight=score.query_weight,
            context_weight=self.cells.from_context.weight,
            state_weight=from_state.weight,
            state_bias=from_state.bias,
            hidden_positions=None
            if state.may_attend is None
            else state.may_attend.unseen_keys(scores_shape, projected.device),
        )
        return found.states, found.contexts, found.weights if need_weights else None

    def _read_step_by_step(
        self,
        projected: Float[Tensor, "batch target_len gates_dim"],
        state: DecoderState,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        contexts, weights, tops = [], [], []
        for step_projected in projected.unbind(1):
            context, step_weights, state = self._advance(step_projected, state, need_weights)
            contexts.append(context)
            weights.append(step_weights)
            tops.append(self.cells.top(state.hidden))
        return (
            torch.stack(tops, 1),
            torch.stack(contexts, 1),
            torch.stack(weights, 1) if need_weights else None,  # type: ignore[arg-type]
        )

    def _advance(
        self,
        projected: Float[Tensor, "batch gates_dim"],
        state: DecoderState,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None, DecoderState]:
        assert state.key is not None
        query = self.cells.top(state.hidden)  # s(t-1)
        context, weights, _ = attend(
            query.unsqueeze(1).to(state.value.dtype),  # autocast mixes dtypes
            state.key,
            state.value,
            score=self.score,
            may_attend=state.may_attend,
            need_weights=need_weights,
        )
        context = context.squeeze(1)
        hidden = self.cells(projected, context, state.hidden)
        return (
            context,
            None if weights is None else weights.squeeze(1),
            state._replace(hidden=hidden),
        )
