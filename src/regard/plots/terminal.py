"""Alignments in a terminal: a coloured grid that stays readable without colour."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.style import Style
from rich.text import Text

from regard.plots._colour import paper_and_ink
from regard.plots._grid import Grid, checked_grid, digits

__all__ = ["terminal_alignment"]

_LEFT_TO_RIGHT_MARK = "\u200e"  # takes no room


def terminal_alignment(weights: Any, source: Sequence[str], target: Sequence[str]) -> "_Grid":
    """Return a grid for `rich.print`: queries (target) down, keys (source) across.

    A cell says its weight in hundredths, ``46`` for .46 and ``·`` for what rounds to nothing, on
    the colour that `alignment` gives it. A source wider than the console continues below, with the
    target's labels repeated.
    """
    return _Grid(checked_grid(weights, source, target, "plots.terminal_alignment"))


class _Grid:
    """The renderable: a line of source labels, then a line for each target label."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._cells = [[digits(weight) for weight in row] for row in grid.weights]
        # A column holds its label or its widest number, with one blank before it.
        self._widths = [
            1 + max(2, *map(cell_len, (label, *column)))
            for label, column in zip(grid.source, zip(*self._cells, strict=True), strict=True)
        ]
        self._label_width = max(map(cell_len, grid.target))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width
        # In a narrow console the longest labels are cut, so that one column always fits.
        label_width = max(1, min(self._label_width, max(room // 3, room - max(self._widths))))
        widths = [max(1, min(width, room - label_width)) for width in self._widths]
        for number, block in enumerate(_blocks(widths, room - label_width)):
            if number:
                yield Text()
            header = Text(" " * label_width, no_wrap=True)
            for j in block:
                header.append(_right(self._grid.source[j], widths[j]), Style(bold=True))
            yield header
            for i, label in enumerate(self._grid.target):
                line = Text(no_wrap=True).append(_right(label, label_width), Style(bold=True))
                for j in block:
                    paper, ink = paper_and_ink(self._grid.weights[i, j])
                    style = Style(color=ink, bgcolor=paper)
                    line.append(_right(self._cells[i][j], widths[j]), style)
                yield line

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        whole = self._label_width + sum(self._widths)
        narrow = self._label_width + max(self._widths)
        return Measurement(narrow, whole).with_maximum(options.max_width)


def _blocks(widths: list[int], room: int) -> Iterable[list[int]]:
    """Cut the columns into runs that fit.

    >>> list(_blocks([3, 3, 4, 3], 7))
    [[0, 1], [2, 3]]
    """
    block: list[int] = []
    for column, width in enumerate(widths):
        if block and sum(widths[j] for j in block) + width > room:
            yield block
            block = []
        block.append(column)
    yield block


def _right(text: str, width: int) -> str:
    """Set text flush right in that many terminal cells, cut with … where it is too long."""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1) + "…"
    blanks = " " * (width - cell_len(text))
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        # Keeps a terminal that reorders Hebrew or Arabic from turning the columns around.
        text = _LEFT_TO_RIGHT_MARK + text + _LEFT_TO_RIGHT_MARK
    return blanks + text
