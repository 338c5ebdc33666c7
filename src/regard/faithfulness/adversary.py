"""The adversary: the most different weights that give the same output."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from regard.faithfulness.decisions import Decisions
from regard.faithfulness.distances import jensen_shannon, total_variation

BOUND = 0.01
"""Total variation distance up to which an output counts as the same."""
_PENALTY = 10.0
_RATE = 0.2
_HALVINGS = 8


class Adversarial(NamedTuple):
    """The adversary's best weights, a row a decision."""

    weights: Float[Tensor, "rows keys"]
    divergence: Float[Tensor, " rows"]
    """Jensen-Shannon divergence from the model's own weights: the ε-max JSD, 0 to ln 2."""
    change: Float[Tensor, " rows"]
    """Total variation distance of the output; never above the bound."""


def find_adversary(
    decisions: Decisions,
    *,
    generator: Generator,
    bound: float = BOUND,
    restarts: int = 5,
    steps: int = 40,
) -> Adversarial:
    r"""``max JSD(α, α') subject to TVD(y, y') ≤ bound`` over weights α', for each row by itself.

    (Jain & Wallace 2019, arXiv:1902.10186, section 4.2.2, equation 2.) The divergence is convex in
    α', so its largest values are at corners. First the way from the model's own weights to each
    corner, all weight on one position, is halved until the last point within the bound is found.
    Then Adam climbs the divergence less a penalty on the excess over the bound, in turn from near
    the best so far and from random weights, and the way to where each climb ended is halved too.

    Of all weights seen within the bound, one and the same while climbing and while judging, the
    most different count. The model's own are among them, so there is always an answer. It is found
    by search: a larger divergence may exist, so a small one is no proof.

    Args:
        decisions: what is tested.
        generator: of the random starts.
        bound: total variation distance up to which an output counts as the same.
        restarts: number of climbs.
        steps: of each climb.
    """
    own, may_attend = decisions.weights.detach(), decisions.may_attend
    with torch.no_grad():
        base = decisions.respond(own)
    best = _Best(own)
    for corner in torch.eye(own.shape[1], dtype=own.dtype):
        _walk_back(decisions, base, own, may_attend * corner, bound, best)
    for restart in range(restarts):
        noise = torch.randn(own.shape, generator=generator, dtype=own.dtype)
        tiny = torch.finfo(own.dtype).tiny
        near_best = best.weights.clamp(min=tiny).log().clamp(min=-8.0) + 0.3 * noise
        start = 3.0 * noise if restart % 2 else near_best
        logits = start.masked_fill(~may_attend, -torch.inf).requires_grad_()
        optimizer = _Adam(logits)
        for _ in range(steps):
            weights = logits.softmax(dim=-1)
            change = total_variation(base, decisions.respond(weights))
            divergence = jensen_shannon(own, weights)
            best.see(weights.detach(), divergence.detach(), change.detach() <= bound)
            excess = (change - bound).relu()
            (slope,) = torch.autograd.grad((_PENALTY * excess - divergence).sum(), logits)
            optimizer.step(slope.masked_fill(~may_attend, 0.0))
        _walk_back(decisions, base, own, logits.detach().softmax(dim=-1), bound, best)
    with torch.no_grad():
        change = total_variation(base, decisions.respond(best.weights))
    return Adversarial(best.weights, best.divergence, change)


class _Best:
    """The most different weights within the bound so far."""

    def __init__(self, own: Tensor) -> None:
        self.weights = own.clone()
        self.divergence = torch.zeros_like(own[:, 0])

    def see(self, weights: Tensor, divergence: Tensor, allowed: Tensor) -> None:
        better = allowed & (divergence > self.divergence)
        self.weights = torch.where(better[:, None], weights, self.weights)
        self.divergence = torch.where(better, divergence, self.divergence)


class _Adam:
    """Kingma & Ba 2015, arXiv:1412.6980, algorithm 1; torch's own loads its compiler first, 3 s."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._mean = torch.zeros_like(tensor)
        self._square = torch.zeros_like(tensor)
        self._num_steps = 0

    @torch.no_grad()
    def step(self, slope: Tensor) -> None:
        self._num_steps += 1
        self._mean.lerp_(slope, 0.1)
        self._square.lerp_(slope.square(), 0.001)
        mean = self._mean / (1 - 0.9**self._num_steps)
        square = self._square / (1 - 0.999**self._num_steps)
        self._tensor -= _RATE * mean / (square.sqrt() + 1e-8)


@torch.no_grad()
def _walk_back(
    decisions: Decisions, base: Tensor, own: Tensor, end: Tensor, bound: float, best: _Best
) -> None:
    """Halve the way from the model's own weights, which are within the bound, to the end."""
    inside, outside = torch.zeros_like(own[:, :1]), torch.ones_like(own[:, :1])
    share = outside
    for _ in range(_HALVINGS):
        weights = torch.lerp(own, end, share)
        allowed = total_variation(base, decisions.respond(weights)) <= bound
        allowed &= end.sum(dim=-1) > 0.5  # no corner of this row
        best.see(weights, jensen_shannon(own, weights), allowed)
        inside = torch.where(allowed[:, None], share, inside)
        outside = torch.where(allowed[:, None], outside, share)
        share = (inside + outside) / 2
