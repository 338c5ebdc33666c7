"""Whether gradients are being transformed, which hand-written backwards cannot follow."""

import torch


def is_transformed() -> bool:
    """Within a transform of ``torch.func``, or forward-mode differentiation."""
    if torch.compiler.is_compiling():
        return False
    return (
        torch._C._functorch.peek_interpreter_stack() is not None
        or torch.autograd.forward_ad._current_level >= 0
    )
