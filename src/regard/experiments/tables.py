"""From cells to rows, and from rows to files."""

import csv
import io
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from regard.core.files import write_atomically
from regard.experiments.cells import Table
from regard.faithfulness.intervals import Bootstrap

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

_SEED = 1


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items of each key, both in the order in which they came.

    >>> grouped([1, 2, 3], lambda number: number % 2)
    {1: [1, 3], 0: [2]}
    """
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def with_interval(name: str, shares: Sequence[Sequence[float | int]]) -> dict[str, float]:
    """A mean share and the ends of its 95 % bootstrap interval.

    Over test examples, and with several trainings over these too; see
    :class:`regard.faithfulness.intervals.Bootstrap`.

    Args:
        name: of the column; the ends are ``NAME_low`` and ``NAME_high``.
        shares: a row for each training, a share for each test example, the same ones in each row.

    >>> with_interval("right", [[1.0, 1.0], [1.0, 1.0]])
    {'right': 1.0, 'right_low': 1.0, 'right_high': 1.0}
    """
    numbers = np.array(shares, dtype=np.float64)
    estimate = Bootstrap(np.arange(numbers.shape[1]), seed=_SEED).estimate(numbers)
    ends = {"low": estimate.interval.low, "high": estimate.interval.high}
    return {name: estimate.value} | {f"{name}_{end}": value for end, value in ends.items()}


def around(row: Mapping[str, Any], name: str) -> tuple[float, float, float]:
    """A column and its interval, for a plot: widened where few draws left its value outside.

    >>> around({"right": 0.5, "right_low": 0.6, "right_high": 0.7}, "right")
    (0.5, 0.5, 0.7)
    """
    value = row[name]
    return value, min(value, row[f"{name}_low"]), max(value, row[f"{name}_high"])


def mean(numbers: Iterable[float | int | None]) -> float | None:
    """Of those that are there; None where none is.

    >>> mean([1.0, None, 2.0]), mean([None])
    (1.5, None)
    """
    there = [number for number in numbers if number is not None]
    return sum(there) / len(there) if there else None


def write(table: Table, folder: Path, stem: str) -> None:
    """Write ``STEM.csv`` and ``STEM.json``, the same rows in both. None is blank in the CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table.rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows)
    write_atomically(folder / f"{stem}.csv", text.getvalue().encode())
    content = json.dumps(table._asdict(), ensure_ascii=False, indent=1)
    write_atomically(folder / f"{stem}.json", content.encode() + b"\n")
