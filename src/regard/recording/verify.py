"""Contract 4, checked by the recorder itself: the recorded output is the unrecorded one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves
from torch.utils.hooks import RemovableHandle

from regard.core.errors import shape_text
from regard.recording.trace import Trace

_TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Largest difference, as a share of the largest number of the output."""


class RecordingError(ValueError):
    """A recorded output differs from the unrecorded one by more than rounding."""


@contextmanager
def verified(
    model: nn.Module, trace: Trace, unwatched: Callable[[], AbstractContextManager[None]]
) -> Iterator[None]:
    """After each forward of the model run it again, unwatched, and compare the outputs."""
    for name, module in model.named_modules():
        probability = getattr(module, "dropout", getattr(module, "p", 0.0))
        if module.training and isinstance(probability, float) and probability > 0.0:
            raise ValueError(
                f"record: verify=True, but {name or type(module).__name__} drops out with "
                f"probability {probability:.3g}, so that no two runs are equal. Write model.eval() "
                "first."
            )
    handle: RemovableHandle
    fast_path = any(isinstance(module, nn.TransformerEncoder) for module in model.modules())

    def compare(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        nonlocal handle
        handle.remove()  # a hook alone keeps torch's layers off their fast path
        try:
            with unwatched():
                unrecorded = module(*args, **kwargs)
        finally:
            handle = model.register_forward_hook(compare, with_kwargs=True)
        for one, other in zip(tree_leaves(output), tree_leaves(unrecorded), strict=True):
            if isinstance(one, Tensor) and one.is_floating_point():
                one, other = one.detach(), other.detach()
                if fast_path and one.shape == other.shape:  # which leaves padding out, as zeros
                    one = one.masked_fill((other == 0.0).all(-1, keepdim=True), 0.0)
                difference = _difference(one, other)
                trace.largest_difference = max(trace.largest_difference, difference)

    handle = model.register_forward_hook(compare, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _difference(recorded: Tensor, unrecorded: Tensor) -> float:
    if recorded.shape != unrecorded.shape:
        raise RecordingError(
            f"record: the recorded output has shape {shape_text(recorded.shape)}, the unrecorded "
            f"one {shape_text(unrecorded.shape)}. The model's forward is not the same twice. "
            "Record without verify, one forward at a time."
        )
    if not recorded.numel():
        return 0.0
    apart = (recorded.double() - unrecorded.double()).abs()
    apart[recorded.isnan() & unrecorded.isnan() | (recorded == unrecorded)] = 0.0
    largest = float(apart.nan_to_num(torch.inf).max())
    finite = unrecorded.double().abs().nan_to_num(0.0, 0.0, 0.0)
    if largest > _TOLERANCES[recorded.dtype] * max(1.0, float(finite.max())):
        raise RecordingError(
            f"record: the recorded output {shape_text(recorded.shape)} differs from the unrecorded "
            f"one by {largest:.3g}. Recording must change nothing but rounding. The model may draw "
            "at random, keep state, or see its own hooks; record without verify to look at it."
        )
    return largest
