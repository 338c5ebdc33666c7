"""Dropout with one mask for all positions of a sequence."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.dropout import GENERATOR


class Ramped:
    """What drops a share of what it was built for; see :func:`scale_dropout`."""

    share: float = 1.0


class LockedDropout(nn.Module, Ramped):
    """Drop channels, the same ones at every position of an example.

    (Gal & Ghahramani 2016, arXiv:1512.05287, section 4.) Besides regularizing recurrent layers
    better than a fresh mask at each position, it draws fewer random numbers, which on a CPU are a
    tenth of a training step.

    Inputs are ``(batch, position, dim)``, or ``(batch, dim)`` in a single step.

    Raises:
        TypeError, ValueError: ``p`` is no probability below 1.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        check_dropout(p, caller="LockedDropout", name="p")
        self.p = p

    def forward(self, inputs: Float[Tensor, "*batch dim"]) -> Tensor:
        """The inputs, with channels dropped and the others scaled up while training."""
        p = self.p * self.share
        if not self.training or p == 0.0:
            return inputs
        shape = (inputs.shape[0], *(1,) * (inputs.dim() - 2), inputs.shape[-1])
        keep = inputs.new_empty(shape).bernoulli_(1.0 - p, generator=GENERATOR.get())
        return inputs * keep.div_(1.0 - p)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def check_dropout(given: object, *, caller: str, name: str = "dropout") -> None:
    """Refuse what is not a probability below 1.

    Raises:
        TypeError: it is no number.
        ValueError: it is out of range, or NaN.
    """
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(
            f"{caller}: {name}={given!r} is a {type(given).__name__}. It is the probability of "
            "dropping, a number. Use 0.0 for no dropout."
        )
    if not 0.0 <= float(given) < 1.0:
        raise ValueError(
            f"{caller}: {name}={given}. It is the probability of dropping, at least 0 and below 1. "
            "Use 0.0 for no dropout."
        )


def scale_dropout(module: nn.Module, share: float) -> None:
    """Let every dropout inside drop this share of what it was built for.

    Rising from 0 to 1 over a run, it lets the first epochs learn at full speed, when nothing can
    be overfitted yet. (Morerio et al. 2017, arXiv:1703.06229, with a straight line.)
    """
    for part in module.modules():
        if isinstance(part, Ramped):
            part.share = share


@contextmanager
def dropout_from(generator: torch.Generator) -> Iterator[None]:
    """Inside, this thread's dropout draws from ``generator`` in place of torch's own.

    So several threads that train at once each have their own reproducible stream. Dropout on the
    weights of attention takes its seed from there too.
    """
    token = GENERATOR.set(generator)
    try:
        yield
    finally:
        GENERATOR.reset(token)
