"""Accuracy against the length of the input: where a fixed-size state gives out."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.plots._fonts import families_for
from regard.plots._lines import TEXT, Point, draw_lines, finish
from regard.plots.alignment import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def accuracy_by_length(
    table: Mapping[str, Sequence[Point]],
    *,
    chance: float | int | None = None,
    ax: "Axes | None" = None,
    title: str | None = None,
) -> "Figure":
    """Draw a line for every model: accuracy at each length, in a band that is its interval.

    Args:
        table: for every label its points ``(length, accuracy, low, high)``, in 0..1, the interval
            around the accuracy.
        chance: what guessing reaches, as a dashed line.
        ax: where to draw; by default a new figure.
        title: what to write above.

    Raises:
        ValueError: no line or no point, lengths that repeat, an accuracy outside its interval or
            an interval outside 0..1.

    >>> figure = accuracy_by_length({"with attention": [(5, 0.9, 0.8, 0.95), (10, 0.8, 0.7, 0.9)]})
    >>> [line.get_xdata().tolist() for line in figure.axes[0].lines]
    [[5.0, 10.0]]
    """
    caller = "plots.accuracy_by_length"
    lines = _checked(table, caller)
    if chance is not None and not 0 <= chance <= 1:
        raise ValueError(f"{caller}: chance={chance}. Chance lies in 0..1. Pass a share, not %.")
    require_matplotlib(caller)
    families = families_for([*lines, title or ""], caller)
    text: dict[str, Any] = {"fontfamily": families, "color": TEXT, "parse_math": False}
    if ax is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.0), facecolor="white", layout="constrained")
        ax = figure.add_subplot()
    else:
        owner = ax.get_figure(root=True)
        if owner is None:
            raise ValueError(
                f"{caller}: ax belongs to no figure. It was removed from the one it had. Pass axes "
                "of a figure, or no ax."
            )
        figure = owner

    draw_lines(ax, lines)
    if chance is not None:
        ax.axhline(chance, color="#7a808a", linestyle=(0, (4, 3)), linewidth=1.2, label="chance")
    ax.set_ylim(0.0, 1.02)  # whole markers at 1
    ax.set_xlabel("length", **text)
    ax.set_ylabel("accuracy", **text)
    ax.set_title(title or "", fontsize=12, loc="left", **text)
    finish(ax, families)
    return figure


def _checked(
    table: Mapping[str, Sequence[Point]], caller: str
) -> dict[str, list[tuple[float, ...]]]:
    """The points in order of length."""
    if not table:
        raise ValueError(f"{caller}: the table is empty. A plot has at least one line. Add one.")
    lines = {}
    for label, given in table.items():
        points = sorted((*map(float, point),) for point in given)
        lengths = [point[0] for point in points]
        if not points:
            raise ValueError(
                f"{caller}: {label!r} has no points. A line has at least one. Leave it out."
            )
        if len(set(lengths)) < len(lengths):
            raise ValueError(
                f"{caller}: {label!r} has the lengths {lengths}. Each comes once. Take the mean "
                "over seeds first, and the interval over them."
            )
        for point in points:
            if (
                len(point) != 4
                or not math.isfinite(point[0])
                or not (0 <= point[2] <= point[1] <= point[3] <= 1)
            ):
                raise ValueError(
                    f"{caller}: {label!r} has the point {point}. A point is (length, accuracy, "
                    "low, high) with 0 <= low <= accuracy <= high <= 1. Pass shares, not %."
                )
        lines[label] = points
    return lines
