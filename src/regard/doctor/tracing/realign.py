"""The smallest change of axes that makes two arrays fit: an axis put in, or axes swapped."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """A change of one array's axes: what to write behind its name, the shape that it then has."""

    suffix: str
    shape: Shape
    cost: int


def changes(shape: Shape, framework: str, most: int = 4) -> list[Change]:
    """Every cheap change of an array: nothing, axes of size 1 put in, axes swapped."""
    found = [Change("", shape, 0)]
    found += _inserted(shape, framework, most)
    found += _swapped(shape, framework)
    return sorted(found, key=lambda change: change.cost)


def for_matmul(a: Shape, b: Shape, framework: str, *, strict: bool) -> tuple[Change, Change] | None:
    """The cheapest changes after which `a @ b` contracts two equal axes, batch axes equal.

    `strict` for `bmm`: both need three axes. None where no change makes them fit.
    """
    best: tuple[int, Change, Change] | None = None
    for left in changes(a, framework, 3):
        for right in changes(b, framework, 3):
            cost = left.cost + right.cost
            if best is not None and cost >= best[0]:
                continue
            if _multiplies(left.shape, right.shape, strict):
                best = (cost, left, right)
    return None if best is None or best[0] > 3 else (best[1], best[2])


def for_elementwise(small: Shape, large: Shape, framework: str) -> Change | None:
    """The cheapest change of `small` so that each of its axes meets an equal one of `large`.

    Axes of `large` of size 1 may meet anything only where `small` has 1 there as well.
    """
    fitting = [
        change
        for change in changes(small, framework, len(large))
        if len(change.shape) == len(large)
        and all(a in (1, b) for a, b in zip(change.shape, large, strict=True))
    ]
    cheapest = [change for change in fitting if change.cost == fitting[0].cost]
    return cheapest[0] if len(cheapest) == 1 else None


def _multiplies(a: Shape, b: Shape, strict: bool) -> bool:
    if strict and (len(a) != 3 or len(b) != 3):
        return False
    if not a or not b:
        return False
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner or inner == 1:
        return False
    before_a, before_b = a[:-2], b[:-2]
    if before_a and before_b:
        return before_a == before_b
    return True


def _inserted(shape: Shape, framework: str, most: int) -> Iterator[Change]:
    for count in range(1, most - len(shape) + 1):
        for places in combinations(range(len(shape) + count), count):
            rest = iter(shape)
            longer = tuple(1 if i in places else next(rest) for i in range(len(shape) + count))
            if count == 1 and framework == "torch":
                suffix = f".unsqueeze({places[0]})"
            else:
                index = ["None" if i in places else ":" for i in range(len(longer))]
                suffix = f"[{', '.join(index)}]"
            yield Change(suffix, longer, count)


def _swapped(shape: Shape, framework: str) -> Iterator[Change]:
    for order in permutations(range(len(shape))):
        moved = [i for i, axis in enumerate(order) if i != axis]
        if not moved:
            continue
        new = tuple(shape[axis] for axis in order)
        if len(shape) == 2:
            suffix = ".T"
        elif len(moved) == 2 and framework == "torch":
            suffix = f".transpose({moved[0]}, {moved[1]})"
        elif len(moved) == 2:
            suffix = f".swapaxes({moved[0]}, {moved[1]})"
        else:
            word = "permute" if framework == "torch" else "transpose"
            suffix = f".{word}({', '.join(map(str, order))})"
        last = moved == [len(shape) - 2, len(shape) - 1]
        yield Change(suffix, new, 1 if len(moved) == 2 and (last or 1 in shape) else 2)
