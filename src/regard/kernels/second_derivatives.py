"""Gradients of gradients for a hand-written backward: through plain operations in its place."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def differentiable_backward(
    function: Callable[..., tuple[Tensor, ...]],
    inputs: Sequence[Tensor | None],
    grads: Sequence[Tensor | None],
) -> tuple[Tensor | None, ...]:
    """Gradients of the inputs that autograd can differentiate again.

    Args:
        function: plain operations that give from the inputs what the kernel gave.
        inputs: as autograd saved them; one that needs no gradient is given None.
        grads: of the outputs; None for an output that no loss depends on.
    """
    # views, because in self-attention query, key and value may be one tensor, each with a gradient
    views = [None if tensor is None else tensor.view_as(tensor) for tensor in inputs]
    wanted = [view for view in views if view is not None and view.requires_grad]
    outputs = function(*views)
    pairs = zip(outputs, grads, strict=True)  # weights do not depend on the value: no gradient
    used = [(out, grad) for out, grad in pairs if grad is not None and out.requires_grad]
    found = torch.autograd.grad(
        [out for out, _ in used],
        wanted,
        [grad for _, grad in used],
        create_graph=True,
        allow_unused=True,
    )
    gradients = iter(found)
    return tuple(
        next(gradients) if view is not None and view.requires_grad else None for view in views
    )
