"""Which source position each target position of a synthetic task comes from."""

from collections.abc import Sequence

from regard.training.alignment_error import KnownAlignment

TASKS = ("copy", "reverse", "sort")


def known_alignment(task: str, source: Sequence[str]) -> KnownAlignment:
    """The alignment that is right.

    Sorting keeps repeats, and a repeated symbol may come from any of its places: those links are
    possible, and none of them is sure.

    Args:
        task: ``copy``, ``reverse`` or ``sort``.
        source: its symbols.

    >>> sorted(known_alignment("reverse", ["b", "a", "c"]).sure)
    [(0, 2), (1, 1), (2, 0)]
    >>> known = known_alignment("sort", ["b", "a", "b"])
    >>> sorted(known.sure), sorted(known.possible)
    ([(0, 1)], [(0, 1), (1, 0), (1, 2), (2, 0), (2, 2)])
    """
    if task == "sort":
        possible = {
            (place, origin)
            for place, symbol in enumerate(sorted(source))
            for origin, other in enumerate(source)
            if other == symbol
        }
        sure = {(place, origin) for place, origin in possible if source.count(source[origin]) == 1}
        return KnownAlignment(sure, possible)
    last = len(source) - 1
    right = {(t, last - t if task == "reverse" else t) for t in range(len(source))}
    return KnownAlignment(right, right)
