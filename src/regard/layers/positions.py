"""Where a position is, told to layers that see a set: sinusoidal and learned positions."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.errors import shape_text
from regard.core.sizes import check_sizes


class SinusoidalPositions(nn.Module):
    """``x + P``, ``P[p, 2i] = sin(p / 10000^(2i/dim))``, ``P[p, 2i+1] = cos`` of the same.

    (Vaswani et al. 2017, arXiv:1706.03762, section 3.5.) Nothing is learned and there is no longest
    sequence.

    Args:
        dim: width of what it is added to.

    Raises:
        TypeError, ValueError: ``dim`` is no whole number of at least 1.

    >>> positions = SinusoidalPositions(4)
    >>> positions(torch.zeros(1, 2, 4))
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        check_sizes("SinusoidalPositions", dim=dim)
        self.dim = dim

    def forward(
        self, x: Float[Tensor, "batch position dim"], first: int = 0
    ) -> Float[Tensor, "batch position dim"]:
        """The input with each position's own vector added; the first is position ``first``.

        Raises:
            ValueError: another width or another number of axes.
        """
        _check(x, self.dim, caller="SinusoidalPositions")
        places = torch.arange(first, first + x.shape[1], dtype=torch.float64)
        pairs = torch.arange(0, self.dim, 2, dtype=torch.float64)
        angles = places[:, None] * torch.exp(pairs * (-math.log(10_000.0) / self.dim))
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, : self.dim]
        return x + table.to(x)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LearnedPositions(nn.Module):
    """``x + P`` with a learned vector for each of ``max_len`` positions.

    (Gehring et al. 2017, arXiv:1705.03122, section 3.1.) They begin as large as the sinusoidal
    ones, whose mean square is 1/2.

    Args:
        dim: width of what it is added to.
        max_len: positions that there are.

    Raises:
        TypeError, ValueError: a size that is no whole number of at least 1.

    >>> positions = LearnedPositions(4, max_len=3)
    >>> positions(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    >>> positions(torch.zeros(2, 5, 4))
    Traceback (most recent call last):
    ValueError: LearnedPositions: positions 0 to 4 of x (2, 5, 4), but max_len=3. Each position ...
    """

    def __init__(self, dim: int, *, max_len: int) -> None:
        super().__init__()
        check_sizes("LearnedPositions", dim=dim, max_len=max_len)
        self.table = nn.Parameter(torch.empty(max_len, dim))
        nn.init.normal_(self.table, std=2**-0.5)

    def forward(
        self, x: Float[Tensor, "batch position dim"], first: int = 0
    ) -> Float[Tensor, "batch position dim"]:
        """The input with each position's own vector added; the first is position ``first``.

        Raises:
            ValueError: a position that there is not, another width or another number of axes.
        """
        max_len, dim = self.table.shape
        _check(x, dim, caller="LearnedPositions")
        beyond = first + x.shape[1]
        if beyond > max_len:
            raise ValueError(
                f"LearnedPositions: positions {first} to {beyond - 1} of x {shape_text(x.shape)}, "
                f"but max_len={max_len}. Each position has a learned vector, and there is none "
                f"from {max_len} on. Build it with max_len={beyond} or more and train it on such "
                "lengths, or use sinusoidal positions."
            )
        return x + self.table[first:beyond]

    def extra_repr(self) -> str:
        max_len, dim = self.table.shape
        return f"dim={dim}, max_len={max_len}"


POSITIONS = ("sinusoidal", "learned")


def make_positions(
    name: str, dim: int, *, max_len: int, caller: str
) -> SinusoidalPositions | LearnedPositions:
    """The positions of this name.

    Raises:
        ValueError: an unknown name.
    """
    if name == "sinusoidal":
        return SinusoidalPositions(dim)
    if name == "learned":
        return LearnedPositions(dim, max_len=max_len)
    raise ValueError(
        f"{caller}: positions={name!r} is unknown. Choose one of: {', '.join(POSITIONS)}."
    )


def _check(x: Tensor, dim: int, *, caller: str) -> None:
    if x.dim() != 3 or x.shape[-1] != dim:
        raise ValueError(
            f"{caller}: x {shape_text(x.shape)}. It must be (batch, position, dim={dim}). Give a "
            f"single example as x[None], and build it with the dim of what it is added to."
        )
