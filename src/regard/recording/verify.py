"""Contract 4, checked by the recorder itself: the recorded output is the unrecorded one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from regard.core.errors import shape_text
from regard.recording.recorder import Recorder

_TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""Largest difference, as a share of the largest number of the output."""


class RecordingError(ValueError):
    """A recorded output differs from the unrecorded one by more than rounding."""


@contextmanager
def verified(
    model: nn.Module, recorder: Recorder, unwatched: Callable[[], AbstractContextManager[None]]
) -> Iterator[None]:
    """After each forward of the model run it again, unwatched, and compare the outputs.

    The second forward gets a copy of the inputs, made before the first: what a model writes into
    them, as into a cache of keys, would be there twice.
    """
    _refuse_dropout(model)
    inputs: list[Any] = []
    hooks = ExitStack()
    fast_path = any(isinstance(module, nn.TransformerEncoder) for module in model.modules())

    # A thread that removes its hooks while another is about to call them has them called without
    # the named inputs, hence *given; what is called in a thread's own forward is complete.
    def copy_inputs(module: nn.Module, *given: Any) -> None:
        if recorder.watches_here():
            inputs.append(_copied(given))

    def drop_inputs(module: nn.Module, *given: Any) -> None:
        if recorder.watches_here() and inputs:
            inputs.pop()

    def compare(module: nn.Module, *given: Any) -> None:
        if not recorder.watches_here():
            return
        output = given[-1]
        again, named = inputs[-1]
        hooks.close()  # a hook alone keeps torch's layers off their fast path
        try:
            with unwatched():
                unrecorded = module(*again, **named)
        finally:
            hook()
        for one, other in zip(tree_leaves(output), tree_leaves(unrecorded), strict=True):
            if isinstance(one, Tensor) and one.is_floating_point():
                one, other = one.detach(), other.detach()
                if fast_path and one.shape == other.shape:  # which leaves padding out, as zeros
                    one = one.masked_fill((other == 0.0).all(-1, keepdim=True), 0.0)
                trace = recorder.trace
                trace.largest_difference = max(trace.largest_difference, _difference(one, other))

    def hook() -> None:
        for handle in (
            model.register_forward_pre_hook(copy_inputs, with_kwargs=True),
            model.register_forward_hook(compare, with_kwargs=True),
            model.register_forward_hook(drop_inputs, always_call=True),
        ):
            hooks.callback(handle.remove)

    hook()
    try:
        yield
    finally:
        hooks.close()


def _refuse_dropout(model: nn.Module) -> None:
    for name, module in model.named_modules():
        probability = getattr(module, "dropout", getattr(module, "p", 0.0))
        if module.training and isinstance(probability, float) and probability > 0.0:
            raise ValueError(
                f"record: verify=True, but {name or type(module).__name__} drops out with "
                f"probability {probability:.3g}, so that no two runs are equal. Write model.eval() "
                "first."
            )


class _Copies(TorchFunctionMode):
    """While entered, a deep copy takes any tensor along, and not only leaves of a graph."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is not Tensor.__deepcopy__:
            return func(*args, **(kwargs or {}))
        tensor, memo = args
        if id(tensor) not in memo:
            memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
        return memo[id(tensor)]


def _copied(inputs: Any) -> Any:
    try:
        with _Copies():
            return copy.deepcopy(inputs)
    except Exception as error:
        raise ValueError(
            "record: verify=True, but an input of the model cannot be copied for a second run: "
            f"{' '.join(str(error).split())[:200]}. Give the model what can be copied, or record "
            "without verify."
        ) from None


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
            "at random, keep state between runs (a cache of keys: use_cache=False), or see its own "
            "hooks; record without verify to look at it."
        )
    return largest
