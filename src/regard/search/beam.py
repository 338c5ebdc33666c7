"""Beam search: at every step the few likeliest hypotheses, until none can still become the best."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.sizes import check_sizes
from regard.recording import follow
from regard.search.checks import check_found, check_penalty
from regard.search.hypotheses import Finished, Hypotheses, Moment, follow_back
from regard.search.limits import Limits
from regard.search.steps import CheckedStep, StepLike

State = TypeVar("State")


def beam(
    step: Callable[[Tensor, State], StepLike[State]],
    state: State,
    *,
    num_beams: int,
    n_best: int = 1,
    length_penalty: float = 0.0,
    select: Callable[[State, Tensor], State],
    reorder: Callable[[State, Tensor], State] | None = None,
    max_lengths: Int[Tensor, " batch"],
    min_lengths: Int[Tensor, " batch"] | None = None,
    prefix: Int[Tensor, "batch prefix_len"] | None = None,
    begin: int,
    end: int,
    padding: int,
    never: Sequence[int] = (),
) -> Hypotheses:
    r"""Keep the ``num_beams`` likeliest hypotheses of each source at every step.

    .. math:: \mathrm{score}(y) = \frac{\log p(y)}{lp(y)}, \qquad
              lp(y) = \frac{(5 + |y|)^\alpha}{(5 + 1)^\alpha}

    with \|y\| the emitted tokens, the end token included. (Wu et al. 2016, arXiv:1609.08144,
    equation 14, without its coverage penalty.) α = 0 is the log-probability, which favors short
    sequences; more α favors longer ones.

    Of all continuations of a source's hypotheses the ``num_beams`` likeliest count: those of them
    that end, or are as long as allowed, are finished and kept by score; the ``num_beams`` likeliest
    that do not end live on. A source is done when its ``n_best`` finished ones score at least what
    the best living one could still reach, so that stopping loses nothing: its log-probability can
    only fall, and its penalty is at most that of the longest length allowed (for α < 0, of the next
    token). Then it leaves the batch. With as many beams as there are sequences the search is
    exhaustive; with one, and α = 0, it is :func:`greedy`.

    A recording of the model follows the rows that live on. What is finished has left them: its
    alignment is in the result's weights.

    A source's result does not depend on the other sources or their order: to the bit as far as the
    search goes, to rounding where the step's own numbers depend on the size of its batch.

    Args:
        step: ``step(tokens, state)`` for one token per row.
        state: before the first step, a row a source.
        num_beams: hypotheses that live on at each step.
        n_best: finished hypotheses to return, at most ``num_beams``.
        length_penalty: α, from −10 to 10.
        select: ``select(state, rows)``: the state of these rows, in this order, some of them
            several times.
        reorder: the same where rows only take the place of rows of the same source, so that what
            belongs to the source may stay; None for ``select``.
        max_lengths: most tokens to emit, a number per source; 0 emits none.
        min_lengths: fewest tokens before the end token, a number per source.
        prefix: tokens that each source's target begins with, padded after them. They count, in
            lengths and in log-probabilities.
        begin, end, padding: token ids.
        never: ids that must not be emitted, but in a prefix.

    Raises:
        TypeError: a number of beams or hypotheses, lengths, ids or logits of another type, or a
            step that returns no outcome.
        ValueError: a number of beams or hypotheses below 1, ``n_best`` above ``num_beams``, a
            length penalty out of its range, limits that exclude each other; ids that are not in
            the vocabulary; logits that do not fit the rows, or change their width; a source for
            which no token has a probability; or log-probabilities that are NaN.

    A step that finds token 3 likeliest, the end (2) likely, and needs no state:

    >>> from regard.layers import Step
    >>> logits = torch.tensor([0.0, 0.0, 0.5, 0.3]).log()
    >>> found = beam(
    ...     lambda tokens, state: Step(logits.expand(len(tokens), -1), None, state), None,
    ...     num_beams=2, n_best=2, select=lambda state, rows: state,
    ...     max_lengths=torch.tensor([2]), begin=1, end=2, padding=0,
    ... )
    >>> found.tokens.tolist()
    [[[2, 0], [3, 2]]]
    """
    limits = Limits(
        caller="beam",
        max_lengths=max_lengths,
        min_lengths=min_lengths,
        prefix=prefix,
        never=never,
        begin=begin,
        end=end,
        padding=padding,
    )
    _check(num_beams, n_best, length_penalty)
    checked_step = CheckedStep(step, limits)
    max_lengths, device = max_lengths.long(), max_lengths.device
    batch = max_lengths.shape[0]
    finished = Finished.none(batch, n_best, max_lengths)
    moments: list[Moment] = []
    # the sources still searched, and for each the log-probabilities of its hypotheses
    sources = (max_lengths > 0).nonzero().squeeze(1)
    living = torch.zeros(len(sources), 1, device=device)
    tokens, parents = torch.full((len(sources),), begin, device=device), sources
    if len(sources) < batch:
        state = select(state, sources)
    while len(sources):
        width, num_tokens = living.shape[1], len(moments) + 1
        outcome = checked_step(tokens, state)
        state = outcome.state
        moments.append(Moment(tokens, parents, outcome.weights))
        log_probs = limits.log_probs(
            outcome.logits, num_tokens - 1, sources.repeat_interleave(width)
        )
        found = _likeliest(living, log_probs.reshape(len(sources), width, -1), num_beams)
        ends, longest = found.tokens == end, max_lengths[sources]
        is_over = (ends | (longest == num_tokens)[:, None])[:, :num_beams]
        finished = finished.best_with(sources, _over(found, is_over, num_tokens, length_penalty))
        going_on = found.at(ends.long().argsort(dim=1, stable=True)[:, :num_beams])
        living = going_on.log_probs.masked_fill(going_on.tokens == end, -torch.inf)
        reachable = living[:, 0] / _penalty(
            longest if length_penalty >= 0 else torch.full_like(longest, num_tokens + 1),
            length_penalty,
        )
        is_open = (reachable > finished.scores[sources, -1]) & (longest > num_tokens)
        stays_whole = bool(is_open.all()) and living.shape[1] == width
        sources, living = sources[is_open], living[is_open]
        tokens, parents = going_on.tokens[is_open].flatten(), going_on.rows[is_open].flatten()
        if len(sources):
            state = (reorder or select)(state, parents) if stays_whole else select(state, parents)
            follow(parents)
    check_found("beam", finished.scores[:, 0])
    return follow_back(finished, moments, end=end, padding=padding)


class _Candidates(NamedTuple):
    """Continuations of each source's hypotheses, the likeliest first."""

    log_probs: Float[Tensor, "sources some"]
    tokens: Int[Tensor, "sources some"]
    rows: Int[Tensor, "sources some"]
    """The rows they continue."""

    def at(self, places: Int[Tensor, "sources fewer"]) -> "_Candidates":
        return _Candidates(*(part.gather(1, places) for part in self))


def _likeliest(
    living: Float[Tensor, "sources width"],
    log_probs: Float[Tensor, "sources width vocab"],
    num_beams: int,
) -> _Candidates:
    """As many that even where all hypotheses may end, ``num_beams`` others are among them."""
    sources, width, vocab = log_probs.shape
    candidates = (living[:, :, None] + log_probs).flatten(1)
    best, places = candidates.topk(min(2 * num_beams, width * vocab), dim=1)
    first_rows = width * torch.arange(sources, device=living.device)
    return _Candidates(best, places % vocab, first_rows[:, None] + places // vocab)


def _over(found: _Candidates, is_over: Tensor, num_tokens: int, length_penalty: float) -> Finished:
    some = is_over.shape[1]
    log_probs = found.log_probs[:, :some].masked_fill(~is_over, -torch.inf)
    lengths = torch.full_like(found.tokens[:, :some], num_tokens)
    lengths = lengths.masked_fill(log_probs == -torch.inf, 0)  # none
    scores = log_probs / _penalty(lengths, length_penalty)
    return Finished(scores, log_probs, lengths, found.tokens[:, :some], found.rows[:, :some])


def _penalty(num_tokens: Int[Tensor, "*any"], alpha: float) -> Float[Tensor, "*any"]:
    return ((5 + num_tokens) / 6) ** alpha


def _check(num_beams: int, n_best: int, length_penalty: float) -> None:
    check_sizes("beam", num_beams=num_beams, n_best=n_best)
    if n_best > num_beams:
        raise ValueError(
            f"beam: n_best={n_best} with num_beams={num_beams}. A search finds no more than it "
            f"keeps. Give num_beams={n_best} or more."
        )
    check_penalty("beam", length_penalty)
