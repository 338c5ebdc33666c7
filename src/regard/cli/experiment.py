"""What the experiments' commands share: the folder, progress, Ctrl-C, and the table."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.paths import check_no_file

if TYPE_CHECKING:
    from regard.experiments import Table
    from regard.experiments.cells import Tell


def whole_numbers(given: str | None, option: str) -> list[int] | None:
    """Those of ``5,10,20``.

    Raises:
        ValueError: something else stands there.

    >>> whole_numbers("5, 10", "--lengths")
    [5, 10]
    """
    if given is None:
        return None
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} {given!r} cannot be read. Give whole numbers with commas between them, as "
            "in 8,16,32."
        ) from None


def run(experiment: "Callable[[Tell], Table]", to: Path) -> "Table":
    """Run an experiment with a bar on standard error; Ctrl-C ends with 130, and says what to do."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from regard.plots.alignment import check_path

    check_no_file(to)
    to.mkdir(parents=True, exist_ok=True)
    check_path(to / "plot.png", "experiment")  # not after hours that no picture can be drawn
    console = Console(stderr=True)
    with Progress(
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%  {task.description}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task("starting", total=1.0)
        lines: list[str] = []

        def tell(share: float, what: str) -> None:
            if what not in lines:  # in a log without a bar, a line for each training
                lines.append(what)
                console.print(what, markup=False, highlight=False, soft_wrap=True)
            bar.update(task, completed=share, description=what)

        try:
            return experiment(tell)
        except KeyboardInterrupt:
            bar.stop()
            typer.echo(
                f"Stopped. What is finished is kept in {to / 'cells'}: the same command goes on "
                "from there.",
                err=True,
            )
            raise typer.Exit(130) from None


def show(
    table: "Table",
    columns: Mapping[str, Callable[[dict[str, Any]], str]],
    *,
    title: str,
    files: Sequence[Path],
    as_json: bool,
) -> None:
    """Print the table, and where the files are; or all as one JSON object."""
    if as_json:
        typer.echo(json.dumps(table._asdict(), ensure_ascii=False))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )
    for heading in columns:
        grid.add_column(heading, justify="right", no_wrap=True)
    for row in table.rows:
        grid.add_row(*(cell(row) for cell in columns.values()))
    Console().print(grid)
    typer.echo("Written: " + ", ".join(str(file) for file in files))


def percent(name: str) -> Callable[[dict[str, Any]], str]:
    """A column of shares with its interval, as ``91.2 (88–94)``; a dash where it is None.

    >>> percent("right")({"right": 0.5, "right_low": 0.25, "right_high": 0.75})
    '50.0 (25–75)'
    """

    def told(row: dict[str, Any]) -> str:
        if row[name] is None:
            return "-"
        value, low, high = (100 * row[key] for key in (name, f"{name}_low", f"{name}_high"))
        return f"{value:.1f} ({low:.0f}–{high:.0f})"

    return told


def number(name: str, digits: int) -> Callable[[dict[str, Any]], str]:
    """A column of numbers with so many digits; a dash where it is None.

    >>> number("steps", 0)({"steps": 120.0})
    '120'
    """
    return lambda row: "-" if row[name] is None else f"{row[name]:.{digits}f}"
