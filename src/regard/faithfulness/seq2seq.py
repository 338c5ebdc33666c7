"""Decisions of an encoder-decoder: each output token, under teacher forcing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from regard.core.finite import check_log_probs
from regard.core.masks import Mask
from regard.core.scores import Score
from regard.layers.decoders.decoder import DecoderState
from regard.models import Seq2Seq
from regard.recording import edits, intervene
from regard.text import Vocabulary
from regard.text.batches import Example, collate

DELETED, UNKNOWN, MEAN, RESAMPLED = INTERVENTIONS = (
    "deleted",
    "unknown token",
    "mean embedding",
    "resampled",
)
_NUM_RESAMPLES = 3
_BATCH = 256
# An id that no source holds: its embedding can be any.
_PLACEHOLDER = Vocabulary.BEGIN


class Seq2SeqDecisions:
    """One row for each token of each target, its end included.

    The decoder reads the given target up to the token before, so that every model and every
    intervention answers the same question. Only the weights of the row's own step are replaced; the
    state before the step stays as it was. With inputs removed, the rest is encoded anew and decoded
    from the start.

    Args:
        network: in evaluation mode; its parameters are read only.
        examples: ids of source (two tokens at least) and target, without begin and end.
        first_number: of the examples, in `Decisions.examples`.
        seed: of the tokens that take the place of a resampled one.
    """

    interventions = INTERVENTIONS

    def __init__(
        self, network: Seq2Seq, examples: Sequence[Example], *, first_number: int = 0, seed: int = 0
    ) -> None:
        assert min(len(source) for source, _ in examples) > 1
        self._network = network.eval()
        self._batch = collate(examples)
        self._seed = seed
        exists = torch.arange(self._batch.target_in.shape[1]) < self._batch.target_lengths[:, None]
        self._example, self._step = exists.nonzero(as_tuple=True)
        self._state, weights = self._states_before()
        self.weights: Float[Tensor, "rows keys"] = weights
        source_lengths = self._batch.source_lengths[self._example]
        positions = torch.arange(self._batch.source.shape[1])
        self.may_attend: Bool[Tensor, "rows keys"] = positions < source_lengths[:, None]
        self.examples: Int[Tensor, " rows"] = self._example + first_number
        place = (positions + 0.5) / source_lengths[:, None]
        progress = (self._step + 0.5) / self._batch.target_lengths[self._example]
        self.by_position: Float[Tensor, "rows keys"] = -(place - progress[:, None]).abs()

    def respond(self, weights: Float[Tensor, "rows keys"]) -> Float[Tensor, "rows classes"]:
        """Log-probabilities of the next token when its step looks with these weights."""
        tokens = self._batch.target_in[self._example, self._step]
        with _looking(self._network, weights):
            logits = self._network.decoder.step(tokens, self._state).logits
        return _log_probs(logits, "explain: other weights at one step")

    @torch.no_grad()
    def respond_without(
        self, keep: Bool[Tensor, "rows keys"], how: str
    ) -> Float[Tensor, "rows classes"]:
        """Log-probabilities when the source tokens not kept are removed.

        ``"deleted"``: they are left out. ``"unknown token"``: the unknown token stands in their
        place; ``"mean embedding"``: the mean of all tokens' embeddings; ``"resampled"``: tokens
        drawn from the tested sources, with the probabilities averaged over draws.
        """
        if how == RESAMPLED:
            draws = [self._read_again(keep, how, draw) for draw in range(_NUM_RESAMPLES)]
            return torch.stack(draws).exp().mean(dim=0).log()
        return self._read_again(keep, how, 0)

    def input_gradient(self) -> Float[Tensor, "rows keys"]:
        """Gradient times input of each source token, in every place where it is embedded."""
        batch, decoder = self._batch, self._network.decoder
        gates = torch.ones(batch.source.shape, requires_grad=True)
        with _gated(self._network.encoder.embedding.tables, gates):
            state = decoder.begin(self._network.encoder(batch.source, batch.source_lengths))
        slopes = torch.zeros_like(self.weights)
        for step, tokens in enumerate(batch.target_in.unbind(1)):
            with _looking(self._network, self._weights_at(step)):
                outcome = decoder.step(tokens, state)
            state = outcome.state
            decided = outcome.logits.softmax(dim=-1).amax(dim=-1).sum()  # examples do not mix
            (slope,) = torch.autograd.grad(decided, gates, retain_graph=True)
            rows = self._step == step
            slopes[rows] = slope[self._example[rows]].abs()
        slopes = slopes * self.may_attend
        total = slopes.sum(dim=-1, keepdim=True)
        return slopes / total.clamp(min=torch.finfo(slopes.dtype).tiny)

    def _weights_at(self, step: int) -> Float[Tensor, "batch keys"]:
        """Each example's own weights at a step; uniform where its target has ended."""
        weights = self._batch.source.new_ones(self._batch.source.shape).to(self.weights)
        rows = self._step == step
        weights[self._example[rows]] = self.weights[rows]
        return weights

    @torch.no_grad()
    def _states_before(self) -> tuple[DecoderState, Float[Tensor, "rows keys"]]:
        """The state before each row's step, a row an example of its batch; and the weights."""
        batch, decoder = self._batch, self._network.decoder
        state = decoder.begin(self._network.encoder(batch.source, batch.source_lengths))
        states, weights = [], []
        for tokens in batch.target_in.unbind(1):
            states.append(state)
            outcome = decoder.step(tokens, state, need_weights=True)
            state = outcome.state
            assert outcome.weights is not None
            weights.append(outcome.weights)
        example, step = self._example, self._step
        hidden = tuple(
            torch.stack(part, dim=1)[:, step, example]  # layers rows hidden
            for part in zip(*(state.hidden for state in states), strict=True)
        )
        carried = None
        if state.carried is not None:
            carried = torch.stack([s.carried for s in states if s.carried is not None])
            carried = carried[step, example]
        rows = DecoderState(
            hidden=hidden,
            value=state.value[example],
            key=None if state.key is None else state.key.index_select(example),
            may_attend=Mask.lengths(batch.source_lengths[example]),
            carried=carried,
            summary=None if state.summary is None else state.summary[example],
        )
        return rows, torch.stack(weights)[step, example]

    def _read_again(self, keep: Tensor, how: str, draw: int) -> Tensor:
        """Each source is read once for each set of its tokens that some row keeps."""
        asked = torch.cat([self._example[:, None], keep.long()], dim=1)
        sets, which = torch.unique(asked, dim=0, return_inverse=True)
        reader, source, lengths = self._removed(sets[:, 0], sets[:, 1:].bool(), how, draw)
        target_in = self._batch.target_in[sets[:, 0]]
        found: list[Tensor] = []
        rows: list[Tensor] = []
        for start in range(0, len(sets), _BATCH):
            part = slice(start, start + _BATCH)
            logits = reader(
                source[part, : int(lengths[part].max())], lengths[part], target_in[part]
            )
            of_part = ((which >= start) & (which < start + _BATCH)).nonzero().squeeze(1)
            chosen = logits[which[of_part] - start, self._step[of_part]]
            found.append(_log_probs(chosen, f"explain: inputs {how}"))
            rows.append(of_part)
        return torch.cat(found)[torch.cat(rows).argsort()]

    def _removed(
        self, example: Tensor, keep: Tensor, how: str, draw: int
    ) -> tuple[Callable[[Tensor, Tensor, Tensor], Tensor], Tensor, Tensor]:
        """What reads the sources, and the sources and lengths that it reads."""
        source, lengths = self._batch.source[example], self._batch.source_lengths[example]
        plain: dict[str, Tensor] = dict(self._network.named_parameters())
        if how == DELETED:
            places = keep.to(torch.int8).argsort(dim=1, descending=True, stable=True)
            lengths = keep.sum(dim=1)
            return self._reader(plain), source.gather(1, places), lengths
        if how == RESAMPLED:
            generator = torch.Generator().manual_seed(self._seed + draw)
            drawn = self._batch.source[self._batch.source != Vocabulary.PADDING]
            places = torch.randint(len(drawn), self._batch.source.shape, generator=generator)
            return self._reader(plain), torch.where(keep, source, drawn[places][example]), lengths
        fill = _PLACEHOLDER if how == MEAN else Vocabulary.UNKNOWN
        parameters = self._with_mean_placeholder() if how == MEAN else plain
        return self._reader(parameters), torch.where(keep, source, fill), lengths

    def _reader(self, parameters: dict[str, Tensor]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        return lambda *read: functional_call(self._network, parameters, read).logits

    def _with_mean_placeholder(self) -> dict[str, Tensor]:
        parameters: dict[str, Tensor] = dict(self._network.named_parameters())
        for name, table in self._network.encoder.embedding.tables.named_parameters():
            changed = table.detach().clone()
            changed[_PLACEHOLDER] = table[Vocabulary.END + 1 : -1].mean(dim=0)  # last: outside
            parameters[f"encoder.embedding.tables.{name}"] = changed
        return parameters


def _log_probs(logits: Float[Tensor, "rows classes"], where: str) -> Float[Tensor, "rows classes"]:
    log_probs = logits.log_softmax(dim=-1)
    check_log_probs(log_probs, where)
    return log_probs


@contextmanager
def _looking(network: Seq2Seq, weights: Float[Tensor, "batch keys"]) -> Iterator[None]:
    """While entered, the decoder attends with these weights."""
    score = network.decoder.score  # the one attention there is; naming every module takes longer
    assert isinstance(score, Score)
    with intervene(score, edits.replace(weights[:, None, None, :])):
        yield


@contextmanager
def _gated(tables: nn.ModuleList, gates: Float[Tensor, "batch source_len"]) -> Iterator[None]:
    """While entered, every embedding of a source token is multiplied with the token's gate."""
    reach = len(tables) // 2
    around = functional.pad(gates, (reach, reach), value=1.0)

    def gate(offset: int) -> Callable[[nn.Module, object, Tensor], Tensor]:
        part = around[:, offset : offset + gates.shape[1], None]
        return lambda module, given, embedded: embedded * part

    hooks = [table.register_forward_hook(gate(offset)) for offset, table in enumerate(tables)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
