"""Erasure: how much of the attention must go until the decision does."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from regard.faithfulness.decisions import Decisions
from regard.faithfulness.distances import jensen_shannon
from regard.faithfulness.orders import ranks


def erase(
    weights: Float[Tensor, "rows keys"], keep: Bool[Tensor, "rows keys"]
) -> Float[Tensor, "rows keys"]:
    """The weights that are kept, renormalized to sum 1; all 0 where nothing is left.

    >>> erase(torch.tensor([[.5, .3, .2]]), torch.tensor([[False, True, True]]))
    tensor([[0.0000, 0.6000, 0.4000]])
    """
    kept = weights * keep
    total = kept.sum(dim=-1, keepdim=True)
    renormalized = kept / total.clamp(min=torch.finfo(weights.dtype).tiny)
    unchanged = (kept == weights).all(dim=-1, keepdim=True)  # bit for bit, without a division
    return torch.where(unchanged, weights, renormalized)


@torch.no_grad()
def share_until_flip(
    decisions: Decisions, importance: Float[Tensor, "rows keys"]
) -> Float[Tensor, " rows"]:
    """The smallest share of positions to erase, the most important first, until the decision flips.

    One position is always left; a decision that stands until then counts as 1. (Serrano & Smith
    2019, arXiv:1906.03731, section 5: the erased weights are set to 0, the others renormalized, and
    only what follows the attention is run again.)
    """
    may_attend = decisions.may_attend
    num_positions = may_attend.sum(dim=-1)
    decided = decisions.respond(decisions.weights).argmax(dim=-1)
    rank = ranks(importance, may_attend)
    share = torch.ones(len(decided), dtype=decisions.weights.dtype)
    open_rows = torch.ones_like(decided, dtype=torch.bool)
    for num_erased in range(1, int(num_positions.max())):
        erased = erase(decisions.weights, may_attend & (rank >= num_erased))
        open_rows &= num_erased < num_positions
        flips = open_rows & (decisions.respond(erased).argmax(dim=-1) != decided)
        share = torch.where(flips, num_erased / num_positions, share)
        open_rows &= ~flips
        if not bool(open_rows.any()):
            break
    return share


class Flips(NamedTuple):
    """Does erasing one position flip the decision? 1 or 0 a row, for two choices of it."""

    largest: Float[Tensor, " rows"]
    """The position of the largest weight."""
    random: Float[Tensor, " rows"]
    """Another position, drawn at random."""
    divergence_gain: Float[Tensor, " rows"]
    """Jensen-Shannon divergence of the output without the first, less that without the second."""

    def table(self) -> dict[str, Float[Tensor, " rows"]]:
        """The two-by-two table: both flip it, only one of them, or none."""
        largest, random = self.largest, self.random
        return {
            "both": largest * random,
            "only the largest": largest * (1 - random),
            "only the random one": (1 - largest) * random,
            "neither": (1 - largest) * (1 - random),
        }


@torch.no_grad()
def flip_one(decisions: Decisions, generator: Generator) -> Flips:
    """Erase the largest weight, or another at random, and see which flips the decision.

    (Serrano & Smith 2019, arXiv:1906.03731, section 4.) Weights are renormalized.
    """
    own, may_attend = decisions.weights, decisions.may_attend
    base = decisions.respond(own)
    largest = own.masked_fill(~may_attend, -1.0).argmax(dim=-1, keepdim=True)
    luck = torch.rand(own.shape, generator=generator).masked_fill(~may_attend, -1.0)
    other = luck.scatter(-1, largest, -2.0).argmax(dim=-1, keepdim=True)
    outcomes = [
        decisions.respond(erase(own, may_attend.scatter(-1, which, False)))
        for which in (largest, other)
    ]
    flips = [(outcome.argmax(dim=-1) != base.argmax(dim=-1)).to(own.dtype) for outcome in outcomes]
    moved = [jensen_shannon(base.exp(), outcome.exp()) for outcome in outcomes]
    return Flips(flips[0], flips[1], moved[0] - moved[1])
