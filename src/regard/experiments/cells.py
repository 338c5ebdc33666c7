"""The cells of an experiment: each is measured once, and kept in a file of its own."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from regard.core.files import write_atomically

Settings: TypeAlias = dict[str, Any]
"""All that a cell's numbers depend on, as plain data."""
Measured: TypeAlias = dict[str, Any]
"""A cell's numbers, as plain data."""
Tell: TypeAlias = Callable[[float, str], None]
"""Told of each step: the share that is done, 0 to 1, and what is being done."""
Measure: TypeAlias = Callable[[Settings, Callable[[float], None]], Measured]
"""Measures one cell, and tells the share of it that is done."""


class CellError(ValueError):
    """A kept cell that cannot be used; the text names the file, the reason and the fix."""


class Cell(NamedTuple):
    """One finished measurement."""

    settings: Settings
    measured: Measured


class Table(NamedTuple):
    """What an experiment came to: ``rows`` are the lines of its CSV file, under these names."""

    experiment: str
    settings: Settings
    rows: list[dict[str, Any]]


def measure_all(
    wanted: Mapping[str, Settings], measure: Measure, *, folder: Path, tell: Tell
) -> list[Cell]:
    """Measure the cells that ``folder`` does not hold yet, one after the other, and read the rest.

    A cell is written as ``NAME.json`` when it is finished, whole or not at all: what is stopped
    loses the cell it was at, and the next call goes on from there.

    Args:
        wanted: the settings of each cell, by its name.
        measure: of one cell.
        folder: of the finished cells; made if it is not there.
        tell: how far it is.

    Raises:
        CellError: ``folder`` holds a cell of that name with other settings, or a damaged one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     square = lambda settings, tell: {"squared": settings["x"] ** 2}
    ...     [cell.measured for cell in measure_all(
    ...         {"two": {"x": 2}, "three": {"x": 3}}, square, folder=Path(folder),
    ...         tell=lambda share, what: None)]
    [{'squared': 4}, {'squared': 9}]
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: _read(folder / f"{name}.json", settings) for name, settings in wanted.items()}
    num_done = sum(cell is not None for cell in kept.values())
    cells = []
    for name, settings in wanted.items():
        cell = kept[name]
        if cell is None:

            def tell_share(share: float, name: str = name, before: int = num_done) -> None:
                tell((before + share) / len(wanted), f"{before + 1} of {len(wanted)}: {name}")

            tell_share(0.0)
            cell = Cell(settings, measure(settings, tell_share))
            content = json.dumps(cell._asdict(), ensure_ascii=False, allow_nan=False)
            write_atomically(folder / f"{name}.json", content.encode())
            num_done += 1
        cells.append(cell)
    tell(1.0, "done")
    return cells


def _read(path: Path, settings: Settings) -> Cell | None:
    """The cell that is kept there, if any."""
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_bytes())
        cell = Cell(dict(content["settings"]), dict(content["measured"]))
    except (ValueError, KeyError, TypeError):
        raise CellError(
            f"{path} is damaged. It should hold a finished cell as JSON. Delete it, and the cell "
            "is measured again."
        ) from None
    names = sorted(settings.keys() | cell.settings.keys())
    apart = [n for n in names if cell.settings.get(n) != settings.get(n)]
    if apart:
        first = apart[0]
        raise CellError(
            f"{path} was measured with {first} {cell.settings.get(first)}, and now it is "
            f"{settings.get(first)}. The cells of one folder belong to one experiment. Choose "
            f"another folder, or delete {path.parent}."
        )
    return cell
