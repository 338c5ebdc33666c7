"""Placing panels by what was drawn: cells keep their size, and the figure grows around them."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure

# All in inches.
_MARGIN = 0.15
_GAP = 0.35  # between panels, and before the colour bar
_BAR_WIDTH = 0.13


_LONGEST = 24.0  # of the cells together: beyond it no screen or page shows a figure whole
LABEL_INCHES = 0.12  # for a label of the smallest size


def cell_inches(shape: tuple[int, ...]) -> float:
    """The side of a cell: smaller in larger grids, so that all together stay below two feet.

    >>> cell_inches((5, 12)), cell_inches((30, 40)), cell_inches((100, 10)), cell_inches((300, 10))
    (0.46, 0.26, 0.16, 0.08)
    """
    longest = max(shape)
    for up_to, inches in ((12, 0.46), (24, 0.34), (48, 0.26), (96, 0.2)):
        if longest <= up_to:
            return inches
    return min(0.16, _LONGEST / longest)


class Panel(NamedTuple):
    """Axes, with the size of their cells together in inches."""

    ax: "Axes"
    width: float
    height: float


def bar_inches(panel: Panel) -> float:
    """The height of the colour bar beside a panel: its own, neither tiny nor huge."""
    return min(max(panel.height, 1.2), 3.2)


class _Around(NamedTuple):
    """How far labels and titles reach beyond the cells, in inches."""

    left: float
    right: float
    top: float
    bottom: float


def ruler(dpi: float) -> "RendererAgg":
    """A renderer that measures text, for figures that have no canvas to do so."""
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(1, 1, dpi)  # type: ignore[no-untyped-call]


def _around(ax: "Axes", dpi: float) -> _Around:
    whole = ax.get_tightbbox(ruler(dpi))
    inner = ax.get_window_extent()
    assert whole is not None
    return _Around(
        max(inner.x0 - whole.x0, 0) / dpi,
        max(whole.x1 - inner.x1, 0) / dpi,
        max(whole.y1 - inner.y1, 0) / dpi,
        max(inner.y0 - whole.y0, 0) / dpi,
    )


def arrange(
    figure: "Figure", panels: list[Panel], bar: "Axes", bar_height: float, ncols: int
) -> None:
    """Place the panels row by row, the bar beside the last of the first row, and fit the figure."""
    dpi = figure.dpi
    arounds = [_around(panel.ax, dpi) for panel in panels]
    bar_around = _around(bar, dpi)

    columns = [list(range(first, len(panels), ncols)) for first in range(ncols)]
    rows = [
        list(range(len(panels)))[first : first + ncols] for first in range(0, len(panels), ncols)
    ]

    lefts = []  # of the cells, by column
    edge = _MARGIN
    for column in columns:
        lefts.append(edge + max(arounds[i].left for i in column))
        cells_end = lefts[-1] + max(panels[i].width for i in column)
        labels_end = lefts[-1] + max(panels[i].width + arounds[i].right for i in column)
        edge = labels_end + _GAP
    # Labels lean out over the bar, which begins below them.
    bar_left = cells_end + _GAP
    width = max(labels_end, bar_left + _BAR_WIDTH + bar_around.right) + _MARGIN

    tops = []  # of the cells, by row, counted from the top of the figure
    edge = _MARGIN
    for row in rows:
        tops.append(edge + max(arounds[i].top for i in row))
        ends = [tops[-1] + panels[i].height + arounds[i].bottom for i in row]
        if len(tops) == 1:
            ends.append(tops[0] + bar_height)
        edge = max(ends) + _GAP
    height = edge - _GAP + _MARGIN

    def place(ax: "Axes", left: float, top: float, wide: float, high: float) -> None:
        ax.set_position((left / width, 1 - (top + high) / height, wide / width, high / height))

    figure.set_size_inches(width, height)
    for i, panel in enumerate(panels):
        place(panel.ax, lefts[i % ncols], tops[i // ncols], panel.width, panel.height)
    place(bar, bar_left, tops[0], _BAR_WIDTH, bar_height)
