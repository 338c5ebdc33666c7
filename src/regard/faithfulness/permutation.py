"""Permutation: do the same weights at other positions give the same output?"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from regard.faithfulness.decisions import Decisions
from regard.faithfulness.distances import total_variation


class Permuted(NamedTuple):
    """What came of it, a number a row."""

    median_change: Float[Tensor, " rows"]
    """Median total variation distance of the output over the permutations."""
    uniform_change: Float[Tensor, " rows"]
    """The same distance with uniform weights in their place."""
    largest_weight: Float[Tensor, " rows"]


@torch.no_grad()
def permute(decisions: Decisions, *, num_permutations: int, generator: Generator) -> Permuted:
    r"""``median over π of TVD(y, y_π)``, where π shuffles the weights over the real positions.

    (Jain & Wallace 2019, arXiv:1902.10186, section 4.2.1, algorithm 2.) If large weights point at
    what the output needs, shuffling them changes it. Weights that are all equal cannot be shuffled:
    there the change is 0 whatever the model does.
    """
    own, may_attend = decisions.weights, decisions.may_attend
    base = decisions.respond(own)
    changes = [
        total_variation(base, decisions.respond(shuffled(own, may_attend, generator)))
        for _ in range(num_permutations)
    ]
    return Permuted(
        torch.stack(changes).quantile(0.5, dim=0),
        total_variation(base, decisions.respond(uniform(may_attend).to(own))),
        own.amax(dim=-1),
    )


def shuffled(
    numbers: Float[Tensor, "rows keys"], may_attend: Bool[Tensor, "rows keys"], generator: Generator
) -> Float[Tensor, "rows keys"]:
    """Each row's numbers at other positions of those that it may attend to; 0 elsewhere.

    >>> may_attend = torch.tensor([[True, True, True, False]])
    >>> moved = shuffled(torch.tensor([[.1, .2, .7, .0]]), may_attend, torch.Generator())
    >>> sorted(moved[0].tolist())[0], float(moved[0, 3])
    (0.0, 0.0)
    """
    places = may_attend.to(torch.int8).argsort(dim=-1, descending=True, stable=True)
    luck = torch.rand(numbers.shape, generator=generator).masked_fill(~may_attend, 2.0)
    return torch.zeros_like(numbers).scatter(-1, places, numbers.gather(-1, luck.argsort(dim=-1)))


def uniform(may_attend: Bool[Tensor, "rows keys"]) -> Float[Tensor, "rows keys"]:
    """Equal weights over what each row may attend to."""
    return may_attend / may_attend.sum(dim=-1, keepdim=True)
