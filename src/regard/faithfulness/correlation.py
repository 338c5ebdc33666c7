"""Rank correlation, row by row, and what chance would give at that row's own length."""

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from regard.faithfulness.permutation import shuffled

LEVEL = 0.05


def kendall(
    a: Float[Tensor, "rows keys"],
    b: Float[Tensor, "rows keys"],
    may_attend: Bool[Tensor, "rows keys"],
) -> Float[Tensor, " rows"]:
    r"""Kendall's τ-b of each row over its real positions, ties allowed for; NaN if all is tied.

    .. math:: \tau_b = \frac{\sum_{i<j} \mathrm{sign}(a_i - a_j)\,\mathrm{sign}(b_i - b_j)}
                            {\sqrt{\sum_{i<j} [a_i \ne a_j] \sum_{i<j} [b_i \ne b_j]}}

    (Kendall 1945, The treatment of ties in ranking problems.)

    >>> a, b = torch.tensor([[1., 2., 3.]]), torch.tensor([[1., 3., 2.]])
    >>> kendall(a, b, torch.ones(1, 3, dtype=torch.bool))
    tensor([0.3333])
    """
    a_signs, b_signs = _signs(a, may_attend), _signs(b, may_attend)
    agreement = (a_signs * b_signs).sum(dim=(-2, -1))
    num_untied = a_signs.square().sum(dim=(-2, -1)) * b_signs.square().sum(dim=(-2, -1))
    return agreement / num_untied.sqrt()


def exceeds_chance(
    a: Float[Tensor, "rows keys"],
    b: Float[Tensor, "rows keys"],
    may_attend: Bool[Tensor, "rows keys"],
    *,
    num_permutations: int,
    generator: Generator,
) -> Float[Tensor, " rows"]:
    """1 where a row's τ is larger in size than in 95 % of its own permutations, else 0.

    The null has the row's own length and ties. How often it is exceeded depends on the length, so
    these shares compare the two sides of one data set, never two data sets.
    """
    found = kendall(a, b, may_attend).abs()
    as_large = torch.zeros_like(found)
    for _ in range(num_permutations):
        tau = kendall(shuffled(a, may_attend, generator), b, may_attend)
        as_large += tau.abs() >= found - 1e-6  # equal but for rounding counts as equal
    exceeds = ((1 + as_large) / (1 + num_permutations) <= LEVEL).to(found.dtype)
    return torch.where(found.isnan(), torch.nan, exceeds)


def _signs(
    numbers: Float[Tensor, "rows keys"], may_attend: Bool[Tensor, "rows keys"]
) -> Float[Tensor, "rows keys keys"]:
    both = may_attend[:, :, None] & may_attend[:, None, :]
    return (numbers[:, :, None] - numbers[:, None, :]).sign() * both
