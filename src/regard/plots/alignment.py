"""Alignments as figures: queries (target) down, keys (source) across. `python -m` shows a demo.

figure = alignment(weights, source=["k", "a", "t"], target=["K", "AE", "T"])
save(figure, "cat.png")
"""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.plots._beside import as_path, check_place, written_beside
from regard.plots._colour import paper_and_ink, scale
from regard.plots._fonts import families_for
from regard.plots._grid import Grid, check_title, checked_grid, cut
from regard.plots._layout import LABEL_INCHES, Panel, arrange, bar_inches, cell_inches, ruler

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure

VALUES_UP_TO = 12  # rows and columns of a grid whose cells say their weight
_LONGEST_TITLE = 200
_CELL_WITH_LINES = 0.1  # inches; in smaller cells the lines between them would hide the weights
_TEXT = "#2b2f36"


def alignment(
    weights: Any,
    source: Sequence[str],
    target: Sequence[str],
    *,
    ax: "Axes | None" = None,
    title: str | None = None,
) -> "Figure":
    """Draw one alignment matrix and return its figure.

    Every label has its own tick, so the figure grows with the labels, up to 24 inches of cells:
    beyond 200 positions a side only every second, third, … label has room. Labels of more than 32
    characters are cut. Small grids say their weights in the cells. Labels stand in the order of the
    positions, also for scripts that run right to left.

    Args:
        weights: (target_len, source_len), in 0..1: an array, a torch tensor or nested lists.
        source: a label for every key, written on top.
        target: a label for every query, written on the left.
        ax: where to draw, with its size left as it is; by default a new figure, as large as needed.
        title: what to write above.

    Raises:
        ValueError: labels that do not fit, weights outside 0..1, or axes without a figure.
        TypeError: weights that are no numbers, labels or a title that are no strings, or ``ax``
            that are no axes.
    """
    caller = "plots.alignment"
    grid = checked_grid(weights, source, target, caller)
    check_title(title, caller)
    require_matplotlib(caller)
    families = families_for([*grid.source, *grid.target, title or ""], caller)
    if ax is None:
        return _figure([grid], [title or ""], 1, families)
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"{caller}: ax is {ax!r:.40}, {type(ax).__name__}. It is the axes to draw on. Pass "
            "axes of a figure, as figure.subplots() gives, or no ax."
        )
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError(
            f"{caller}: ax belongs to no figure. It was removed from the one it had, and there is "
            "nothing to draw on. Pass axes of a figure, or no ax."
        )
    box = ax.get_window_extent()
    rows, columns = grid.weights.shape
    cell = min(box.width / columns, box.height / rows) / figure.dpi
    _draw(ax, grid, cell, families)
    ax.set_aspect("equal")
    ax.set_title(cut(title or "", _LONGEST_TITLE), **_text(families, 12.0))
    beside = ax.inset_axes((1.04, 0.0, 0.045, 1.0), label="weight")  # as high as the cells
    _style(figure.colorbar(ax.images[-1], cax=beside), rows * cell)
    return figure


def alignments(
    panels: Sequence[tuple[Any, Sequence[str], Sequence[str]]],
    *,
    ncols: int | None = None,
    titles: Sequence[str] | None = None,
) -> "Figure":
    """Draw several alignments, each ``(weights, source, target)``, under one colour scale.

    Args:
        panels: what `alignment` takes, once for each panel; drawn row by row.
        ncols: panels in a row; by default as many as there are, up to three.
        titles: a title for each panel.
    """
    if ncols is None:
        ncols = min(max(len(_triples(panels, "plots.alignments")), 1), 3)
    return side_by_side(panels, ncols, titles, "plots.alignments")


def side_by_side(
    panels: Sequence[tuple[Any, Sequence[str], Sequence[str]]],
    ncols: int,
    titles: Sequence[str] | None,
    caller: str,
) -> "Figure":
    """Draw the panels of `caller`, whose name begins every message."""
    if isinstance(ncols, bool) or not isinstance(ncols, int | np.integer):
        raise TypeError(
            f"{caller}: ncols={ncols!r:.40}, {type(ncols).__name__}. It is the number of panels in "
            "a row. Pass a whole number of at least 1."
        )
    if ncols < 1:
        raise ValueError(f"{caller}: ncols={ncols}. A row has at least one panel. Pass 1 or more.")
    grids = [
        checked_grid(*panel, caller=f"{caller}: panel {place}")
        for place, panel in enumerate(_triples(panels, caller))
    ]
    if not grids:
        raise ValueError(f"{caller}: there are no panels. A figure has at least one. Pass a list.")
    if titles is not None and (isinstance(titles, str) or not isinstance(titles, Sequence)):
        raise TypeError(
            f"{caller}: titles is {titles!r:.40}, {type(titles).__name__}. It is a list of "
            "strings, one for each panel. Pass a list."
        )
    if titles is not None and len(titles) != len(grids):
        raise ValueError(
            f"{caller}: {len(titles)} titles for {len(grids)} panels. Each panel has one. "
            'Pass "" for a panel without.'
        )
    titles = list(titles or [""] * len(grids))
    for place, title in enumerate(titles):
        check_title(title, caller, f"titles[{place}]")
    require_matplotlib(caller)
    labels = [label for grid in grids for label in (*grid.source, *grid.target)]
    families = families_for([*labels, *titles], caller)
    return _figure(grids, titles, min(ncols, len(grids)), families)


def _triples(panels: object, caller: str) -> Sequence[tuple[Any, Any, Any]]:
    if not isinstance(panels, Sequence) or isinstance(panels, str):
        raise TypeError(
            f"{caller}: panels is a {type(panels).__name__}. It is a list with (weights, source, "
            "target) for each panel. Pass a list."
        )
    for place, panel in enumerate(panels):
        if not isinstance(panel, Sequence) or len(panel) != 3:
            raise TypeError(
                f"{caller}: panel {place} is {panel!r:.40}, {type(panel).__name__}. It is "
                "(weights, source, target). Pass these three."
            )
    return panels


def save(figure: "Figure", path: str | os.PathLike[str], *, dpi: int = 160) -> None:
    """Write the figure as the kind of file that `path` ends with: ``.png``, ``.pdf``, ``.svg``...

    The file appears whole or not at all: it is written beside its place and renamed.
    """
    require_matplotlib("plots.save")
    from matplotlib.figure import Figure

    if not isinstance(figure, Figure):
        raise TypeError(
            f"plots.save: figure is {figure!r:.40}, {type(figure).__name__}. It is a matplotlib "
            "Figure. Pass what plots.alignment returned."
        )
    path = as_path(path, "plots.save")
    check_path(path, "plots.save")
    kind = path.suffix.lower().removeprefix(".")
    with written_beside(path) as beside:
        figure.savefig(beside, format=kind, dpi=dpi)


def check_path(path: Path, caller: str) -> None:
    """Refuse a path at which no figure can be saved, before there is one.

    Raises:
        ValueError: its ending is not that of a kind of figure, or its directory does not exist.
        IsADirectoryError: it is a directory.
    """
    require_matplotlib(caller)
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in kinds:
        ending = f"ends with {path.suffix!r}" if path.suffix else "has no ending"
        raise ValueError(
            f"{caller}: {str(path)!r} {ending}. The ending chooses the kind of file. Use one of "
            f"{', '.join('.' + known for known in sorted(kinds))}."
        )
    check_place(path, caller)


def require_matplotlib(caller: str) -> None:
    """Say how to install it, where it is not."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ModuleNotFoundError(
            f"{caller}: matplotlib is not installed. Figures are drawn with it (the terminal grid "
            "needs none). Install it with: pip install 'regard[plots]'",
            name="matplotlib",
        ) from None


def _figure(grids: list[Grid], titles: list[str], ncols: int, families: list[str]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1), facecolor="white")
    figure.set_layout_engine("none")  # whatever the user's settings say: `arrange` places all
    panels = []
    for grid, title in zip(grids, titles, strict=True):
        cell = cell_inches(grid.weights.shape)
        rows, columns = grid.weights.shape
        # As large as it will be: the figure is still an inch wide and high.
        ax = figure.add_axes((0, 0, columns * cell, rows * cell))
        _draw(ax, grid, cell, families)
        ax.set_title(cut(title or "", _LONGEST_TITLE), loc="left", pad=10, **_text(families, 12.0))
        panels.append(Panel(ax, columns * cell, rows * cell))
    bar_ax = figure.add_axes((0, 0, 1, 1), label="weight")
    height = bar_inches(panels[0])
    _style(figure.colorbar(panels[0].ax.images[0], cax=bar_ax), height)
    arrange(figure, panels, bar_ax, height, ncols)
    return figure


def _draw(ax: "Axes", grid: Grid, cell: float, families: list[str]) -> None:
    """Draw the cells, their values and the labels, for cells of that many inches."""
    from matplotlib.colors import ListedColormap

    rows, columns = grid.weights.shape
    ax.imshow(
        grid.weights,
        cmap=ListedColormap(scale() / 255, name="regard"),
        vmin=0.0,
        vmax=1.0,
        aspect="auto",
        origin="upper",
        interpolation="nearest",
    )
    size = min(max(cell * 72 * 0.38, 6.0), 11.0)
    label = _text(families, size)
    every = max(1, math.ceil(LABEL_INCHES / cell - 1e-6))
    for place, names in ((ax.set_xticks, grid.source), (ax.set_yticks, grid.target)):
        place(np.arange(0, len(names), every), labels=list(map(cut, names[::every])), **label)
    ax.tick_params(top=False, bottom=False, left=False, right=False, pad=4)
    ax.tick_params(labeltop=True, labelbottom=False, labelleft=True, labelright=False)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("source (keys)", labelpad=8, **_text(families, 8.5, "#7a808a"))
    ax.set_ylabel("target (queries)", labelpad=8, **_text(families, 8.5, "#7a808a"))

    # Labels wider than their column lean.
    figure = ax.get_figure(root=True)
    assert figure is not None
    measure = ruler(figure.dpi)
    widest = max(tick.get_window_extent(measure).width for tick in ax.get_xticklabels())
    if widest / figure.dpi > cell - 0.05:
        for tick in ax.get_xticklabels():
            tick.set(rotation=45, ha="left", va="bottom", rotation_mode="anchor")

    # Thin white lines between the cells.
    ax.grid(visible=False)
    if cell >= _CELL_WITH_LINES:
        ax.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=min(1.2, cell * 3))
        ax.tick_params(which="minor", length=0)
    ax.spines[:].set_visible(False)

    value_size = cell * 72 * 0.27
    if max(rows, columns) <= VALUES_UP_TO and value_size >= 5:
        for (row, column), weight in np.ndenumerate(grid.weights):
            ink = paper_and_ink(weight)[1]
            written = f"{weight:.2f}".removeprefix("0")
            kind = _text(families, min(value_size, 11.0), ink)
            ax.text(column, row, written, ha="center", va="center", **kind)


def _style(bar: "Colorbar", inches: float) -> None:
    bar.set_ticks([0.0, 0.25, 0.5, 0.75, 1.0] if inches > 1.3 else [0.0, 0.5, 1.0])
    bar.set_label("weight", color=_TEXT, fontsize=9)
    bar.ax.tick_params(labelsize=8, labelcolor=_TEXT, color="#b8bcc4", width=0.6, length=3)
    bar.outline.set_visible(False)


def _text(families: list[str], size: float, colour: str = _TEXT) -> dict[str, Any]:
    # A token is drawn as it is: "$x$" is no formula.
    return {
        "fontfamily": families,
        "fontsize": size,
        "color": colour,
        "parse_math": False,
        "usetex": False,
    }


if __name__ == "__main__":
    from regard.plots._demo import show

    show()
