"""Sizes of layers and scores: whole numbers, at least 1, and not beyond what any model has."""

from numbers import Integral

# Far above any model that was ever built. Beyond them torch speaks of overflows and allocators.
_MOST_WIDE = 2**20
_MOST = {"vocab_size": 10**8, "num_heads": _MOST_WIDE, "num_layers": 1024}


def check_sizes(caller: str, **sizes: object) -> None:
    """Refuse sizes that nothing can be built with.

    Raises:
        TypeError: one is not a whole number.
        ValueError: one is below 1; or a width, a vocabulary, or a number of heads or layers is
            larger than any model's.

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
        if int(size) < 1:
            raise ValueError(
                f"{caller}: {name}={size}. A size is at least 1. Give the width or number that is "
                "meant."
            )
        most = _MOST.get(name, _MOST_WIDE if name.endswith("_dim") else None)
        if most is not None and int(size) > most:
            raise ValueError(
                f"{caller}: {name}={size}. No model is that large, and its weights would fit no "
                f"memory. Give at most {most:,}."
            )
