"""Greedy search: at every step the likeliest token."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.checks import check_found
from regard.search.limits import Limits
from regard.search.steps import CheckedStep, StepLike

State = TypeVar("State")


class Found(NamedTuple):
    """Decoded sequences, padded after their end token."""

    tokens: Int[Tensor, "batch target_len"]
    """Ids, the end token included where it was reached; padding after it."""
    lengths: Int[Tensor, " batch"]
    """Number of tokens before the end token."""
    log_probs: Float[Tensor, " batch"]
    """Log-probability of each sequence, its end token included."""
    weights: Float[Tensor, "batch target_len source_len"] | None
    """Alignments, zero after the end; None if the step gave none."""


def greedy(
    step: Callable[[Tensor, State], StepLike[State]],
    state: State,
    *,
    max_lengths: Int[Tensor, " batch"],
    min_lengths: Int[Tensor, " batch"] | None = None,
    prefix: Int[Tensor, "batch prefix_len"] | None = None,
    begin: int,
    end: int,
    padding: int,
    never: Sequence[int] = (),
) -> Found:
    """Take the likeliest token at every step until the end token or ``max_lengths``.

    A finished row is frozen: it emits padding, and neither its score nor its weights move. As each
    row has its own longest length, no result depends on the rest of the batch.

    Args:
        step: ``step(tokens, state)`` for one token per row.
        state: before the first step.
        max_lengths: most tokens to emit, a number per row; 0 emits none.
        min_lengths: fewest tokens before the end token, a number per row.
        prefix: tokens that each row begins with, padded after them.
        begin, end, padding: token ids.
        never: ids that must not be emitted, but in a prefix.

    Raises:
        TypeError: lengths, ids or logits of another type, or a step that returns no outcome.
        ValueError: limits that exclude each other; ids that are not in the vocabulary; logits that
            do not fit the rows, or change their width; a row for which no token has a probability;
            or log-probabilities that are NaN.
    """
    limits = Limits(
        caller="greedy",
        max_lengths=max_lengths,
        min_lengths=min_lengths,
        prefix=prefix,
        never=never,
        begin=begin,
        end=end,
        padding=padding,
    )
    checked_step = CheckedStep(step, limits)
    batch = max_lengths.shape[0]
    device = max_lengths.device
    every_row = torch.arange(batch, device=device)
    token = torch.full((batch,), begin, device=device)
    open_rows = max_lengths > 0
    log_probs = torch.zeros(batch, device=device)
    lengths = torch.zeros(batch, dtype=torch.long, device=device)
    tokens: list[Tensor] = []
    weights: list[Tensor] = []
    while bool(open_rows.any()):
        outcome = checked_step(token, state)
        state = outcome.state
        step_log_probs = limits.log_probs(outcome.logits, len(tokens), every_row)
        best, token = step_log_probs.max(dim=-1)
        token = token.masked_fill(~open_rows, padding)
        log_probs = log_probs + best.masked_fill(~open_rows, 0.0)
        tokens.append(token)
        if outcome.weights is not None:
            weights.append(outcome.weights.masked_fill(~open_rows[:, None], 0.0))
        open_rows = open_rows & (token != end)
        lengths = lengths + open_rows
        open_rows = open_rows & (lengths < max_lengths) & (log_probs > -torch.inf)
    check_found("greedy", log_probs)
    return Found(
        torch.stack(tokens, dim=1) if tokens else lengths.new_zeros(batch, 0),
        lengths,
        log_probs,
        torch.stack(weights, dim=1) if weights else None,
    )
