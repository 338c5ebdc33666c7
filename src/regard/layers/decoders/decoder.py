"""What every decoder can do: begin, take one step, or read a whole target."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.masks import Mask
from regard.core.scores import PreparedKey
from regard.layers.dropout import LockedDropout
from regard.layers.logits import make_logits
from regard.layers.recurrence import Hidden


class DecoderState(NamedTuple):
    """All that one step hands to the next. A value: nothing is kept on the module."""

    hidden: Hidden
    """Of the recurrent cells, each part (num_layers, batch, hidden_dim)."""
    value: Float[Tensor, "batch source_len state_dim"]
    """What is averaged: the encoder's states."""
    key: PreparedKey | None
    """The encoder's states as the score compares them; None without attention."""
    may_attend: Mask | None
    carried: Float[Tensor, "batch carried_dim"] | None = None
    """The attentional state that is fed to the next step."""
    summary: Float[Tensor, "batch state_dim"] | None = None
    """The encoder's final state, where the decoder reads it at every step."""

    def index_select(self, rows: Int[Tensor, " rows"]) -> "DecoderState":
        """The state of some examples, in this order, perhaps more than once.

        >>> import torch
        >>> hidden = (torch.tensor([[[1.0], [2.0]]]),)
        >>> state = DecoderState(hidden, torch.zeros(2, 3, 4), None, None)
        >>> state.index_select(torch.tensor([1, 1, 0])).hidden[0].tolist()
        [[[2.0], [2.0], [1.0]]]
        """
        return self.reorder(rows)._replace(
            value=self.value.index_select(0, rows),
            key=None if self.key is None else self.key.index_select(rows),
            may_attend=_select_examples(self.may_attend, self.value, rows),
            summary=None if self.summary is None else self.summary.index_select(0, rows),
        )

    def reorder(self, parents: Int[Tensor, " batch"]) -> "DecoderState":
        """The state in which each example continues ``parents[example]``, of the same source.

        What belongs to the source stays as it is, which spares a copy of it at each step of a beam
        search, and what a kernel has made of the keys; only what steps have changed moves.
        """
        return self._replace(
            hidden=tuple(part.index_select(1, parents) for part in self.hidden),
            carried=None if self.carried is None else self.carried.index_select(0, parents),
        )


def _select_examples(
    may_attend: Mask | None, value: Float[Tensor, "batch source_len state_dim"], rows: Tensor
) -> Mask | None:
    if may_attend is None:
        return None
    batch, source_len, _ = value.shape
    grid = may_attend.grid_for((batch, 1, source_len), value.device)
    return Mask.dense(grid.expand(batch, -1, -1).index_select(0, rows))


class Step(NamedTuple):
    """One step's outcome."""

    logits: Float[Tensor, "batch vocab"]
    weights: Float[Tensor, "batch source_len"] | None
    """The alignment; None if not asked for or if there is no attention."""
    state: Any
    """What the next step takes: a :class:`DecoderState`, or that of another family of decoders."""


class Decoded(NamedTuple):
    """A whole target's outcome under teacher forcing."""

    logits: Float[Tensor, "batch target_len vocab"]
    weights: Float[Tensor, "batch target_len source_len"] | None
    """The alignment matrices; None if not asked for or if there is no attention."""


class Decoder(nn.Module, ABC):
    """A decoder, usable step by step and on whole targets, with the same numbers.

    Each family, the recurrent ones and the transformer, has its encoder, whose result its decoders
    begin with, and its state. Every state has ``index_select(rows)`` and ``reorder(parents)``.

    ``tokens`` are the target shifted right: the begin token first, so that position t holds the
    token before the one predicted at t.
    """

    @property
    def _name(self) -> str:
        """Who speaks in errors."""
        return type(self).__name__

    @abstractmethod
    def begin(self, encoded: Any) -> Any:
        """The state before the first step.

        Raises:
            TypeError: not what an encoder of this family returned.
            ValueError: states of another width than the decoder was built for.
        """

    @abstractmethod
    def step(
        self, tokens: Int[Tensor, " batch"], state: Any, *, need_weights: bool = False
    ) -> Step:
        """Read one token per example and predict the next.

        Raises:
            TypeError: not a state of this family, or not a tensor of whole numbers.
            ValueError: shapes that do not fit, or an id that is not the vocabulary's.
        """

    @abstractmethod
    def forward(
        self,
        encoded: Any,
        tokens: Int[Tensor, "batch target_len"],
        *,
        need_weights: bool = False,
    ) -> Decoded:
        """Read whole targets.

        Raises:
            TypeError, ValueError: as :meth:`begin` and :meth:`step`; an empty target.
        """


class InitialState(nn.Module):
    """``s(0) = tanh(W h)`` from the encoder's final states, layer by layer.

    (Bahdanau et al. 2015, appendix A.2.2, where h is the backward state alone.) A decoder with more
    layers than the encoder takes the encoder's last for the rest. An LSTM's inner cell starts from
    its own ``W h``.
    """

    def __init__(self, *, cell: str, state_dim: int, hidden_dim: int, num_layers: int) -> None:
        super().__init__()
        self.num_layers = num_layers
        self.to_hidden = nn.ModuleList(
            nn.Linear(state_dim, hidden_dim) for _ in range(2 if cell == "lstm" else 1)
        )

    def forward(self, final: Float[Tensor, "num_layers batch state_dim"]) -> Hidden:
        """``(h,)`` or ``(h, c)``, each (num_layers, batch, hidden_dim)."""
        layers = torch.arange(self.num_layers, device=final.device).clamp(max=final.shape[0] - 1)
        return tuple(torch.tanh(linear(final[layers])) for linear in self.to_hidden)


class MaxoutReadout(nn.Module):
    """``logits = W_o max(t_{2j−1}, t_{2j})`` with ``t = U s + V e + C c``: the deep output.

    (Bahdanau et al. 2015, appendix A.2.2, with s(t) as in the main text's equation 4; t is half as
    wide as s, as in the paper.) A summary of the source, if ``summary_dim`` gives it a width, adds
    a product of its own to t. With ``tied_embeddings``, W_o is :class:`TiedLogits`.
    """

    def __init__(
        self,
        *,
        hidden_dim: int,
        embedding: nn.Embedding,
        context_dim: int,
        dropout: float,
        summary_dim: int | None = None,
        tied_embeddings: bool = False,
    ) -> None:
        super().__init__()
        readout_dim = max(1, hidden_dim // 2)
        input_dim = hidden_dim + embedding.embedding_dim + context_dim
        self.to_pairs = nn.Linear(input_dim, 2 * readout_dim)
        self.from_summary = (
            None if summary_dim is None else nn.Linear(summary_dim, 2 * readout_dim, bias=False)
        )
        self.dropout = LockedDropout(dropout)
        self.to_logits = make_logits(readout_dim, embedding, tied=tied_embeddings)

    def forward(
        self,
        hidden: Float[Tensor, "*batch hidden_dim"],
        embedded: Float[Tensor, "*batch embed_dim"],
        context: Float[Tensor, "*batch context_dim"],
        summary: Float[Tensor, "*#batch summary_dim"] | None = None,
    ) -> Float[Tensor, "*batch vocab"]:
        """Logits of the next token from state, last token, context, and the summary if any."""
        pairs = self.to_pairs(torch.cat([hidden, embedded, context], dim=-1))
        if self.from_summary is not None:
            pairs = pairs + self.from_summary(summary)
        return self.to_logits(self.dropout(pairs.unflatten(-1, (-1, 2)).amax(dim=-1)))
