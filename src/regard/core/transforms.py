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


def is_only_vmapped() -> bool:
    """Within ``torch.vmap``, and no other transform: then gradients are taken as ever."""
    stack = torch._C._functorch.get_interpreter_stack() or []
    return (
        bool(stack)
        and torch.autograd.forward_ad._current_level < 0
        and all(level.key() == torch._C._functorch.TransformType.Vmap for level in stack)
    )
