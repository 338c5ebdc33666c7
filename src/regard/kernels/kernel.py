"""What a kernel is: capabilities as data, a run function, and refusals in sentences."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch

from regard.core.attend import Attended
from regard.core.errors import dtype_text
from regard.kernels.request import Request


def _refuses_nothing(request: Request) -> list[str]:
    return []


@dataclass(frozen=True)
class Kernel:
    """One way to compute attention.

    ``None`` in a capability means: any. ``tolerance`` is the largest relative error against the
    float64 reference, per dtype; tests are generated from these data.
    """

    name: str
    run: Callable[..., Attended]
    tolerance: Mapping[torch.dtype, float]
    devices: frozenset[str] | None = None
    scores: frozenset[str] | None = None
    masks: frozenset[str] | None = None
    further_refusals: Callable[[Request], list[str]] = _refuses_nothing
    """Whatever else it cannot do, or that is not installed here."""
    does_not_pay: Callable[[Request], list[str]] = _refuses_nothing
    """Why another is better, though this one could; asked only where it could. Tests try it all
    the same."""

    def refusals(self, request: Request) -> list[str]:
        """Why this kernel will not serve the request, a sentence each; empty if it will."""
        refused = []
        if request.dtype not in self.tolerance:
            refused.append(
                _not_among("dtype", dtype_text(request.dtype), map(dtype_text, self.tolerance))
            )
        if self.devices is not None and request.device not in self.devices:
            refused.append(_not_among("device", request.device, self.devices))
        if self.scores is not None and request.score not in self.scores:
            refused.append(_not_among("score", request.score, self.scores))
        if self.masks is not None and request.mask is not None and request.mask not in self.masks:
            refused.append(_not_among("mask", request.mask, {"None", *self.masks}))
        refused += self.further_refusals(request)
        return refused or self.does_not_pay(request)


def _not_among(what: str, wanted: str, served: Iterable[str]) -> str:
    return f"{what} {wanted} is not among {', '.join(sorted(served))}"
