"""Lines in axes: a colour and a marker each, a band around, a legend beside."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = Sequence[float | int]
"""A place, a value, and the ends of the value's interval."""

# Okabe and Ito's colours (https://jfly.uni-koeln.de/color/), told apart by colour-blind readers
# too; and a marker each, for prints in gray.
_LINES = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"),
    ("#E69F00", "v"), ("#56B4E9", "P"), ("#000000", "X"),
)  # fmt: skip
TEXT = "#2b2f36"


def draw_lines(ax: "Axes", lines: Mapping[str, Sequence[Point]]) -> None:
    """Draw each line in a band that is its interval; one without points is in the legend alone."""
    for place, (label, points) in enumerate(lines.items()):
        colour, marker = _LINES[place % len(_LINES)]
        at, value, low, high = zip(*points, strict=True) if points else ((),) * 4
        if points:
            ax.fill_between(at, low, high, color=colour, alpha=0.16, linewidth=0)
        ax.plot(at, value, color=colour, marker=marker, markersize=5, label=label)


def finish(ax: "Axes", families: Sequence[str], *, with_legend: bool = True) -> None:
    """Give axes their looks; the legend stands beside the lines, inside it would cover some."""
    ax.tick_params(colors=TEXT, labelsize=9, length=3)
    ax.grid(axis="y", color="#e4e4de", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#b8bcc4")
    if not with_legend:
        return
    legend = ax.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=9,
        labelcolor=TEXT,
        prop={"family": families},
    )
    for written in legend.get_texts():
        written.set_parse_math(False)
