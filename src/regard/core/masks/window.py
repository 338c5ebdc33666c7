"""So many keys before the query's own place, and so many after."""

import operator

from regard.core.masks.band import Band
from regard.core.masks.mask import Align

_FARTHEST = 2**62
"""Beyond it, places plus reach would overflow and hide what should be seen."""


class Window(Band):
    """``before`` keys before the query's own place and ``after`` after; see :meth:`Mask.window`."""

    def __init__(self, before: int | None, after: int | None, align: Align | None = None) -> None:
        super().__init__(_count("before", before), _count("after", after), align)

    def __str__(self) -> str:
        align = f", align={self.align!r}" if self.align else ""
        return f"Mask.window({self.before}, {self.after}{align})"

    @property
    def kind(self) -> str:
        return "window"

    def _aligned(self, align: Align) -> Band:
        return Window(self.before, self.after, align)


def _count(name: str, number: int | None) -> int | None:
    if number is None:
        return None
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(
            f"Mask.window: {name}={number!r} is a {type(number).__name__}. It counts keys, so it "
            "must be a whole number. Pass an int, or None for no limit."
        )
    count = operator.index(number)
    if count < 0:
        raise ValueError(
            f"Mask.window: {name}={count}. It counts keys, so it cannot be negative. Use 0 for "
            "none on that side; to leave out the query's own place too, add & ~Mask.window(0, 0)."
        )
    if count > _FARTHEST:
        raise ValueError(
            f"Mask.window: {name}={count}. No sequence is that long. Give None for no limit."
        )
    return count
