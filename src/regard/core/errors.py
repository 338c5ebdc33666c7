"""How errors are worded: what was given, the rule that failed, the fix."""

from collections.abc import Sequence

from torch import Size, Tensor, dtype


def shape_text(shape: Size | Sequence[int]) -> str:
    """Write a shape as ``(2, 4, 8)``.

    >>> shape_text((2, 4))
    '(2, 4)'
    """
    return "(" + ", ".join(str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"


def shapes_text(**tensors: Tensor | Size | Sequence[int]) -> str:
    """Write named tensors with their shapes: ``query (2, 4, 8), key (2, 5, 9)``.

    >>> shapes_text(query=(2, 4), key=(3,))
    'query (2, 4), key (3,)'
    """
    return ", ".join(
        f"{name} {shape_text(t.shape if isinstance(t, Tensor) else t)}"
        for name, t in tensors.items()
    )


def dtype_text(given: dtype) -> str:
    """Write a dtype as ``float32``."""
    return str(given).removeprefix("torch.")
