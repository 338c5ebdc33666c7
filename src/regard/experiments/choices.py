"""What experiments refuse to compare, in words."""

from collections.abc import Sequence


def check_compared(name: str, given: Sequence[int], among: range) -> None:
    """Lengths or widths to compare, each once.

    Raises:
        ValueError: none, one out of range, or one twice.
    """
    if not given or len(set(given)) < len(given) or any(number not in among for number in given):
        raise ValueError(
            f"{name}={','.join(map(str, given))} cannot be compared. Give whole "
            f"numbers from {among[0]} to {among[-1]}, each once."
        )


def check_seeds(seeds: int) -> None:
    """How often each training is repeated.

    Raises:
        ValueError: not at all, or too often.
    """
    if not 1 <= seeds <= 100:
        raise ValueError(f"seeds={seeds}. Give a whole number from 1 to 100.")
