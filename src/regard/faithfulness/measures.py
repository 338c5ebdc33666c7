"""Every test on some decisions: numbers by name, one a row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from regard.faithfulness.adversary import find_adversary
from regard.faithfulness.correlation import exceeds_chance, kendall
from regard.faithfulness.decisions import Decisions
from regard.faithfulness.eraser import erase_inputs
from regard.faithfulness.erasure import flip_one, share_until_flip
from regard.faithfulness.leave_one_out import leave_one_out
from regard.faithfulness.orders import random_order, weight_gradient
from regard.faithfulness.permutation import permute
from regard.faithfulness.seeds import compare_weights

Measures = dict[tuple[str, ...], Tensor]
"""(test, what of it, ...) to a number a row."""


@dataclass(frozen=True)
class Effort:
    """How hard the tests try.

    Args:
        num_permutations: of the weights, and of ranks for the null of each correlation.
        restarts, steps: of the adversary.
        num_random_orders: averaged where a random order is the baseline.
    """

    num_permutations: int = 100
    restarts: int = 5
    steps: int = 40
    num_random_orders: int = 5


@dataclass(frozen=True)
class Peer:
    """Another training's weights and leave-one-out values, for the same rows."""

    weights: Tensor
    worth: Tensor


def measure(
    decisions: Decisions,
    *,
    peers: Sequence[Peer],
    bound: float,
    effort: Effort,
    generator: Generator,
    tell: Callable[[str], None],
) -> Measures:
    """Run every test on these decisions; ``tell`` hears what is about to run."""
    own, may_attend = decisions.weights, decisions.may_attend
    found: Measures = {}

    tell("permutation")
    permuted = permute(decisions, num_permutations=effort.num_permutations, generator=generator)
    found["permutation", "median change"] = permuted.median_change
    found["permutation", "uniform change"] = permuted.uniform_change
    found["permutation", "largest weight"] = permuted.largest_weight

    tell("adversary")
    adversarial = find_adversary(
        decisions, bound=bound, restarts=effort.restarts, steps=effort.steps, generator=generator
    )
    found["adversary", "divergence"] = adversarial.divergence

    tell("gradients")
    slope = weight_gradient(decisions)
    gradient = decisions.input_gradient()

    tell("erasure")
    orders = {
        "weight": own,
        "gradient": slope,
        "weight × gradient": own * slope,
        "position": decisions.by_position,
    }
    for name, importance in orders.items():
        found["erasure", name] = share_until_flip(decisions, importance)
    shares = [
        share_until_flip(decisions, random_order(may_attend, generator))
        for _ in range(effort.num_random_orders)
    ]
    found["erasure", "random"] = torch.stack(shares).mean(dim=0)
    flips = flip_one(decisions, generator)
    for name, rows in flips.table().items():
        found["flip", name] = rows
    found["flip", "divergence gain"] = flips.divergence_gain

    tell("leave-one-out")
    random = random_order(may_attend, generator)
    main, *others = decisions.interventions
    worth = leave_one_out(decisions, main)
    rankings = {"weight": own, "gradient": gradient, "position": decisions.by_position}
    for name, importance in (rankings | {"random": random}).items():
        found["correlation", name, main] = kendall(importance, worth, may_attend)
        found["significant", name, main] = exceeds_chance(
            importance,
            worth,
            may_attend,
            num_permutations=effort.num_permutations,
            generator=generator,
        )
    found["agreement", "weight", "gradient"] = kendall(own, gradient, may_attend)
    for how in others:
        found["correlation", "weight", how] = kendall(
            own, leave_one_out(decisions, how), may_attend
        )

    for how in decisions.interventions:
        tell(f"comprehensiveness, {how}")
        compared = rankings if how == main else {"weight": own}
        for name, importance in (compared | {"random": random}).items():
            erased = erase_inputs(decisions, importance, how)
            found["comprehensiveness", name, how] = erased.comprehensiveness
            found["sufficiency", name, how] = erased.sufficiency

    if peers:
        beside = [compare_weights(own, peer.weights, may_attend, generator) for peer in peers]
        for name in ("divergence", "chance", "same_top"):
            rows = torch.stack([getattr(agreement, name) for agreement in beside])
            found["seeds", name] = rows.mean(dim=0)
        ceilings = torch.stack([kendall(worth, peer.worth, may_attend) for peer in peers])
        found["correlation", "another training", main] = ceilings.nanmean(dim=0)
    return found
