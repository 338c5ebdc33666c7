"""Sizes of layers and scores: whole numbers, at least 1."""

from numbers import Integral


def check_sizes(caller: str, **sizes: object) -> None:
    """Refuse sizes that nothing can be built with.

    Raises:
        TypeError: one is not a whole number.
        ValueError: one is below 1.

    >>> check_sizes("Additive", query_dim=4, key_dim=0)
    Traceback (most recent call last):
    ValueError: Additive: key_dim=0. A size is at least 1. Give the width or number that is meant.
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, Integral):
            raise TypeError(
                f"{caller}: {name}={size!r} is a {type(size).__name__}. A size is a whole number. "
                "Give an int of at least 1."
            )
        if size < 1:
            raise ValueError(
                f"{caller}: {name}={size}. A size is at least 1. Give the width or number that is "
                "meant."
            )
