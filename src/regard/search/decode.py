"""One batch of tokenized sources through a network, by greedy or beam search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import torch
from torch import Tensor

from regard.core.fields import Rule, between, check_fields
from regard.layers import Decoder, Step
from regard.models import Translator
from regard.search.beam import beam
from regard.search.greedy import greedy
from regard.search.hypotheses import Hypotheses
from regard.text import Vocabulary

_MOST_TOKENS = 1_000_000
_NEVER = (Vocabulary.PADDING, Vocabulary.BEGIN, Vocabulary.UNKNOWN)


class Hypothesis(NamedTuple):
    """One target that a search found for a source."""

    target: str
    target_tokens: list[str]
    log_prob: float
    """Log-probability, the end included."""
    score: float
    """What hypotheses are ordered by: the log-probability over the length penalty."""
    weights: Tensor | None
    """The alignment, (target tokens, source tokens); None if not asked for or no attention."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """How to search; see :func:`regard.search.predict` for each choice.

    Raises:
        TypeError, ValueError: a value that is none, or choices that exclude each other.
    """

    beam: Annotated[int, between(1, 1000)] = 1
    n_best: Annotated[int, between(1, 1000)] = 1
    length_penalty: Annotated[
        float, Rule("from -10 to 10: 0 for none", lambda given: -10 <= given <= 10)
    ] = 0.0
    min_length: Annotated[int, between(0, _MOST_TOKENS)] = 0
    max_length: Annotated[int, between(1, _MOST_TOKENS)] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.n_best > self.beam:
            raise ValueError(
                f"n_best={self.n_best} with beam={self.beam}. A search returns no more than it "
                f"keeps at each step. Give beam={self.n_best} or more."
            )
        if self.length_penalty and self.beam == 1:
            raise ValueError(
                f"length_penalty={self.length_penalty} with beam=1. It compares hypotheses, and "
                "greedy search has one. Give beam=2 or more, or leave it out."
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(
                f"min_length={self.min_length} with max_length={self.max_length}. No target is at "
                "least as long as that and at most as long as this. Lower min_length, or raise "
                "max_length."
            )

    def longest(self, source_len: int, prefix_len: int, max_len: int | None) -> int:
        """Most tokens to emit for a source of this length, by a network with this limit."""
        if self.max_length is not None:
            return self.max_length
        longest = max(2 * source_len + 10, prefix_len + 10, self.min_length)
        return longest if max_len is None else min(longest, max_len)


@torch.inference_mode()
def decode(
    translator: Translator,
    sources: Sequence[Sequence[str]],
    prefixes: Sequence[Sequence[str]],
    search: Search,
    *,
    need_weights: bool,
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, best first; sources of one length, at least 1."""
    network = translator.network.eval()
    device = next(network.parameters()).device
    ids = torch.tensor([translator.source.vocabulary.encode(s) for s in sources], device=device)
    batch, source_len = ids.shape
    prefix = _padded([translator.target.vocabulary.encode(p) for p in prefixes]).to(device)

    def alike(number: int) -> Tensor:
        return torch.full((batch,), number, device=device)

    found = _search(
        network.decoder,
        network.decoder.begin(network.encoder(ids, alike(source_len))),
        search,
        need_weights=need_weights,
        max_lengths=torch.tensor(
            [search.longest(source_len, len(p), network.max_len) for p in prefixes], device=device
        ),
        min_lengths=alike(search.min_length) if search.min_length else None,
        prefix=prefix if prefix.numel() else None,
    )
    return [
        [
            _hypothesis(translator, found, row, place)
            for place in range(search.n_best)
            if found.scores[row, place] > -torch.inf
        ]
        for row in range(batch)
    ]


def _search(
    decoder: Decoder, state: Any, search: Search, *, need_weights: bool, **limits: Any
) -> Hypotheses:
    def step(tokens: Tensor, state: Any) -> Step:
        return decoder.step(tokens, state, need_weights=need_weights)

    limits |= {
        "begin": Vocabulary.BEGIN,
        "end": Vocabulary.END,
        "padding": Vocabulary.PADDING,
        "never": _NEVER,
    }
    if search.beam == 1:
        found = greedy(step, state, **limits)
        log_probs = found.log_probs[:, None]
        weights = None if found.weights is None else found.weights[:, None]
        return Hypotheses(
            found.tokens[:, None], found.lengths[:, None], log_probs, log_probs, weights
        )
    return beam(
        step,
        state,
        num_beams=search.beam,
        n_best=search.n_best,
        length_penalty=search.length_penalty,
        select=lambda state, rows: state.index_select(rows),
        reorder=lambda state, parents: state.reorder(parents),
        **limits,
    )


def _padded(ids: list[list[int]]) -> Tensor:
    longest = max(map(len, ids))
    padded = [[*some, *[Vocabulary.PADDING] * (longest - len(some))] for some in ids]
    return torch.tensor(padded, dtype=torch.long)


def _hypothesis(translator: Translator, found: Hypotheses, row: int, place: int) -> Hypothesis:
    length = int(found.lengths[row, place])
    ids = found.tokens[row, place, :length].tolist()
    target_tokens = translator.target.vocabulary.decode(ids)
    return Hypothesis(
        translator.target.tokenizer.join(target_tokens),
        target_tokens,
        float(found.log_probs[row, place]),
        float(found.scores[row, place]),
        None if found.weights is None else found.weights[row, place, :length].clone(),
    )
