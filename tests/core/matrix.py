"""The axes the contracts are tried over, the cells of their product, and choices of cells.

The whole product is run for the answer itself. For every contract, cells are chosen so that each
pair (or three) of values of different axes meets in at least one cell.
"""

import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, islice, product
from typing import NamedTuple, TypeAlias

import torch

from tests.core.cases import OF_EQUAL_WIDTHS, SCORES
from tests.core.maskings import MASKINGS

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
}


class Cell(NamedTuple):
    """One value on each axis."""

    score: str
    mask: str
    dtype: str
    heads: str
    key: str
    observed: str
    mode: str
    layout: str
    bias: str

    def __str__(self) -> str:
        return "-".join(value.replace(" ", "_") for value in self)


AXES: dict[str, tuple[str, ...]] = {
    "score": tuple(SCORES),
    "mask": tuple(MASKINGS),
    "dtype": tuple(DTYPES),
    "heads": ("no_heads", "heads", "own_heads"),  # own: each head has its own parameters
    "key": ("plain", "prepared"),
    "observed": ("context", "weights"),
    "mode": ("eval", "train", "dropout"),  # eval: without gradients; dropout: training, with it
    "layout": ("contiguous", "strided"),
    "bias": ("unbiased", "biased"),
}


def why_not(cell: Cell) -> str | None:
    """Why there is no such cell; None if there is."""
    if cell.heads == "own_heads" and cell.score in OF_EQUAL_WIDTHS:
        return "the dot scores have no parameters for a head to own"
    if cell.heads == "no_heads" and MASKINGS[cell.mask].of_heads:
        return "a mask that differs between heads needs a heads axis"
    return None


def product_of(**fixed: str) -> Iterator[Cell]:
    """Every cell with these values, those that do not exist included."""
    return map(Cell._make, product(*({**AXES, **{a: (v,) for a, v in fixed.items()}}).values()))


Group: TypeAlias = tuple[tuple[int, str], ...]  # values, each with the number of its axis


def groups(cell: Cell, strength: int) -> Iterator[Group]:
    """Its pairs, or threes, of values."""
    return combinations(enumerate(cell), strength)


@cache
def covering(
    strength: int,
    needed: Callable[[Cell], bool] = lambda cell: True,
    apart: frozenset[str] = frozenset(),
) -> tuple[Cell, ...]:
    """Few cells, all needed, in which every group of this many values meets that can meet.

    Values of two axes of ``apart`` need not meet: the longest two, if cells are to be really few.

    Greedily: the best of some random cells with a group that has not met yet, and so on. A group
    that is in none of them is taken for one that cannot meet.
    """
    rng = random.Random(0)
    values = [
        [value for value in axis if _some_with(((number, value),), needed, rng)]
        for number, axis in enumerate(AXES.values())
    ]
    wanted: dict[Group, None] = {}  # as a set, but in order
    for axes in combinations(range(len(values)), strength):
        if len(apart.intersection(Cell._fields[axis] for axis in axes)) > 1:
            continue
        for chosen in product(*(values[axis] for axis in axes)):
            wanted[tuple(zip(axes, chosen, strict=True))] = None
    cells = []
    while wanted:
        group = next(iter(wanted))
        if not (tries := _some_with(group, needed, rng)):
            del wanted[group]
            continue
        best = max(tries, key=lambda cell: sum(g in wanted for g in groups(cell, strength)))
        cells.append(best)
        for covered in groups(best, strength):
            wanted.pop(covered, None)
    return tuple(cells)


def _some_with(group: Group, needed: Callable[[Cell], bool], rng: random.Random) -> list[Cell]:
    """Twenty random cells with this group, if that many are found soon; [] if it cannot meet."""
    drawn = (_random_cell(group, rng) for _ in range(200))
    return list(islice((c for c in drawn if why_not(c) is None and needed(c)), 20))


def _random_cell(group: Group, rng: random.Random) -> Cell:
    drawn = [rng.choice(values) for values in AXES.values()]
    for axis, value in group:
        drawn[axis] = value
    return Cell._make(drawn)
