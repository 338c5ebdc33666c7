"""What a kernel is: capabilities as data, a run function, and refusals in sentences."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from regard.core.attend import Attended
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

    def refusals(self, request: Request) -> list[str]:
        """Why this kernel cannot serve the request, a sentence each; empty if it can."""
        asked = (
            ("dtype", str(request.dtype).removeprefix("torch."), self._dtype_names()),
            ("device", request.device, self.devices),
            ("score", request.score, self.scores),
            ("mask", request.mask, None if self.masks is None else self.masks | {None}),
        )
        refused = [
            f"{what} {wanted} is not among {', '.join(sorted(map(str, served)))}"
            for what, wanted, served in asked
            if served is not None and wanted not in served
        ]
        return refused + self.further_refusals(request)

    def _dtype_names(self) -> frozenset[str]:
        return frozenset(str(dtype).removeprefix("torch.") for dtype in self.tolerance)
