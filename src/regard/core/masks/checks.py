"""Checks of the numbers in a mask, eager or compiled."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.core.errors import dtype_text, shape_text


def readable(tensor: Tensor) -> bool:
    """Whether Python may read the numbers: not under compile, export or vmap, nor on meta."""
    return not (
        torch.compiler.is_compiling()
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        or tensor.is_meta
    )


def refuse_where(
    wrong: Bool[Tensor, "..."], rule: str, explain: Callable[[list[int]], str]
) -> None:
    """Raise ValueError if ``wrong`` holds anywhere, with ``explain(the first such index)``.

    Under compile and export it becomes an assertion in the graph, which says ``rule``; under vmap
    and on meta the numbers cannot be read, and nothing is checked.
    """
    if torch.compiler.is_compiling():
        torch._assert_async(~wrong.any(), rule)
    elif readable(wrong) and wrong.any():
        raise ValueError(explain(wrong.nonzero()[0].tolist()))


def whole_numbers(numbers: object, *, given: str, rule: str, if_bool: str) -> Int[Tensor, "..."]:
    """A copy of the numbers, as int64, since what a mask says must not change under it.

    Raises:
        TypeError: they are not whole numbers. ``given`` names them, ``rule`` says what they are
            for, ``if_bool`` what to do with a bool tensor.
    """
    if isinstance(numbers, list | tuple) and not numbers:
        return torch.zeros(0, dtype=torch.long)  # as_tensor([]) would be float
    try:
        tensor = torch.as_tensor(numbers)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"{given} is {numbers!r}. {rule} Pass a list of ints, all rows of one length, or an "
            "int tensor."
        ) from None
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool:
        raise TypeError(
            f"{given} has dtype {dtype_text(tensor.dtype)} and shape {shape_text(tensor.shape)}. "
            f"{rule} "
            + (if_bool if tensor.dtype == torch.bool else "Round them yourself, then .long().")
        )
    return tensor.to(torch.long, copy=True)


def numbers_text(tensor: Tensor) -> str:
    """Write a tensor's numbers, as far as they fit on a line; its shape if they cannot be read."""
    if not readable(tensor):
        return f"<{shape_text(tensor.shape)}>"
    text = str(tensor.tolist())
    return text if len(text) <= 60 else f"{text[:56]} ..."
