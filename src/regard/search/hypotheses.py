"""Hypotheses of a beam search: the finished ones, and the way back from their last token."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Hypotheses(NamedTuple):
    """The best of each source, best first, padded after their end token.

    Where a source has fewer than were asked for, the scores of the missing ones are −inf, and
    their lengths 0.
    """

    tokens: Int[Tensor, "batch n_best target_len"]
    """Ids, the end token included where it was reached; padding after it."""
    lengths: Int[Tensor, "batch n_best"]
    """Number of tokens before the end token."""
    log_probs: Float[Tensor, "batch n_best"]
    """Log-probability of each sequence, its end token included."""
    scores: Float[Tensor, "batch n_best"]
    """What they are ordered by: the log-probability over the length penalty."""
    weights: Float[Tensor, "batch n_best target_len source_len"] | None
    """Alignments, zero after the end; None if the step gave none."""


class Moment(NamedTuple):
    """One step as the way back needs it, by the rows that went into the step."""

    tokens: Int[Tensor, " rows"]
    """What each row read: the token it ended with."""
    parents: Int[Tensor, " rows"]
    """The row of the step before that each continues."""
    weights: Float[Tensor, "rows source_len"] | None


class Finished(NamedTuple):
    """Hypotheses that are over: their score, and what leads back to them. A row a source."""

    scores: Float[Tensor, "sources kept"]
    log_probs: Float[Tensor, "sources kept"]
    num_tokens: Int[Tensor, "sources kept"]
    """Emitted, the end token included."""
    last_tokens: Int[Tensor, "sources kept"]
    rows: Int[Tensor, "sources kept"]
    """Which row emitted the last token, at the step of that token."""

    @classmethod
    def none(cls, batch: int, kept: int, max_lengths: Int[Tensor, " batch"]) -> "Finished":
        """Places that any hypothesis takes; where nothing may be emitted, that of nothing."""
        numbers = torch.full((batch, kept), -torch.inf, device=max_lengths.device)
        numbers[:, 0].masked_fill_(max_lengths == 0, 0.0)
        whole = torch.zeros_like(numbers, dtype=torch.long)
        return cls(numbers, numbers, whole, whole, whole)

    def best_with(self, sources: Int[Tensor, " some"], others: "Finished") -> "Finished":
        """For some of the sources the best of these and the others, as many as were kept."""
        both = [torch.cat([part[sources], new], 1) for part, new in zip(self, others, strict=True)]
        best = both[0].topk(self.scores.shape[1], dim=1).indices
        parts = zip(self, both, strict=True)
        return Finished(*(part.index_copy(0, sources, new.gather(1, best)) for part, new in parts))


def follow_back(finished: Finished, moments: list[Moment], *, end: int, padding: int) -> Hypotheses:
    """Read off each hypothesis's tokens and weights from its last step to its first."""
    shape = finished.scores.shape
    num_tokens, last_tokens, last_rows = (
        part.flatten() for part in (finished.num_tokens, finished.last_tokens, finished.rows)
    )
    row = torch.zeros_like(last_rows)
    tokens: list[Tensor] = []
    weights: list[Tensor] = []
    read = last_tokens
    for position in reversed(range(int(num_tokens.max()) if num_tokens.numel() else 0)):
        moment = moments[position]
        is_last, is_over = num_tokens == position + 1, num_tokens <= position
        row = torch.where(is_last, last_rows, row)
        emitted = torch.where(is_last, last_tokens, read)
        tokens.append(emitted.masked_fill(is_over, padding))
        if moment.weights is not None:
            weights.append(moment.weights[row].masked_fill(is_over[:, None], 0.0))
        row = row.masked_fill(is_over, 0)
        read, row = moment.tokens[row], moment.parents[row]
    ended = (last_tokens == end) & (num_tokens > 0)
    return Hypotheses(
        _stack(tokens, shape, last_tokens),
        (num_tokens - ended.long()).reshape(shape),
        finished.log_probs,
        finished.scores,
        _stack(weights, shape, None) if weights else None,
    )


def _stack(backwards: list[Tensor], shape: torch.Size, empty_like: Tensor | None) -> Tensor:
    if not backwards:
        assert empty_like is not None
        return empty_like.new_zeros(*shape, 0)
    stacked = torch.stack(backwards[::-1], dim=1)
    return stacked.reshape(*shape, *stacked.shape[1:])
