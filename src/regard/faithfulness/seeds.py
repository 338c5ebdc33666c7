"""Seeds: do trainings that differ in nothing but chance look at the same positions?"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from regard.faithfulness.distances import jensen_shannon
from regard.faithfulness.permutation import shuffled


class Agreement(NamedTuple):
    """One model's weights beside another's, a number a row."""

    divergence: Float[Tensor, " rows"]
    """Jensen-Shannon divergence: the noise that an adversary must rise above."""
    chance: Float[Tensor, " rows"]
    """The same with the other's weights shuffled."""
    same_top: Float[Tensor, " rows"]
    """1 where both have their largest weight at one position."""


@torch.no_grad()
def compare_weights(
    own: Float[Tensor, "rows keys"],
    other: Float[Tensor, "rows keys"],
    may_attend: Bool[Tensor, "rows keys"],
    generator: Generator,
) -> Agreement:
    """How far another training's weights are from these, for the same source and target.

    (Wiegreffe & Pinter 2019, arXiv:1908.04626, section 3.3.)
    """
    return Agreement(
        jensen_shannon(own, other),
        jensen_shannon(own, shuffled(other, may_attend, generator)),
        (own.argmax(dim=-1) == other.argmax(dim=-1)).to(own.dtype),
    )
