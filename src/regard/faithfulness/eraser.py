"""Comprehensiveness and sufficiency: the most important inputs removed, or they alone kept."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.faithfulness.decisions import Decisions
from regard.faithfulness.orders import ranks

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


class Eraser(NamedTuple):
    """Averages over the shares (AOPC), a number a row."""

    comprehensiveness: Float[Tensor, " rows"]
    """Loss of probability without the most important inputs: large if they were needed."""
    sufficiency: Float[Tensor, " rows"]
    """Loss of probability with them alone: small if they were enough."""


@torch.no_grad()
def erase_inputs(decisions: Decisions, importance: Float[Tensor, "rows keys"], how: str) -> Eraser:
    r"""``P(y) − P(y | x without its top k %)`` and ``P(y) − P(y | its top k %)``, averaged over k.

    k is 1, 5, 10, 20 and 50 % of the row's positions, rounded up, and at least one position is left
    on either side. y is the model's own decision. (DeYoung et al. 2020, ERASER, arXiv:1911.03429,
    section 4.2, equations 1 and 2.)
    """
    may_attend = decisions.may_attend
    num_positions = may_attend.sum(dim=-1)
    rank = ranks(importance, may_attend)
    base, decided = decisions.respond(decisions.weights).max(dim=-1)

    def loss(keep: Tensor) -> Tensor:
        log_probs = decisions.respond_without(keep, how).gather(-1, decided[:, None])
        return base.exp() - log_probs.squeeze(-1).exp()

    losses: dict[tuple[int, ...], tuple[Tensor, Tensor]] = {}  # short rows share their numbers
    found = []
    for share in SHARES:
        num_top = (num_positions * share).ceil().clamp(min=1).minimum(num_positions - 1)
        sizes = tuple(num_top.tolist())
        if sizes not in losses:
            top = may_attend & (rank < num_top[:, None])
            losses[sizes] = loss(may_attend & ~top), loss(top)
        found.append(losses[sizes])
    comprehensiveness, sufficiency = zip(*found, strict=True)
    return Eraser(torch.stack(comprehensiveness).mean(0), torch.stack(sufficiency).mean(0))
