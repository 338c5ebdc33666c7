"""Several measures of the same models, side by side, against one size that doubles."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.plots._fonts import families_for
from regard.plots._lines import TEXT, Point, draw_lines, finish
from regard.plots.alignment import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def measures_by_size(
    measures: Mapping[str, Mapping[str, Sequence[Point]]], *, size: str, title: str = ""
) -> "Figure":
    """Draw a panel for each measure, and in it a line for each model.

    Args:
        measures: for the name of each measure, for every label, its points ``(size, value, low,
            high)``. A line without points is in the legend alone.
        size: what the horizontal axis counts; it doubles along it.
        title: what to write above.

    >>> points = [(8, 200, 180, 220), (16, 140, 140, 140)]
    >>> figure = measures_by_size({"updates": {"dot": points}}, size="key_dim")
    >>> figure.axes[0].get_title(loc="left"), figure.axes[0].get_xlabel()
    ('updates', 'key_dim')
    """
    caller = "plots.measures_by_size"
    require_matplotlib(caller)
    from matplotlib.figure import Figure

    labels = dict.fromkeys(label for lines in measures.values() for label in lines)
    families = families_for([*measures, *labels, size, title], caller)
    text: dict[str, Any] = {"fontfamily": families, "color": TEXT, "parse_math": False}
    figure = Figure(
        figsize=(3.4 * len(measures) + 1.0, 3.4), facecolor="white", layout="constrained"
    )
    panels = figure.subplots(1, len(measures), squeeze=False)[0]
    for ax, (name, lines) in zip(panels, measures.items(), strict=True):
        draw_lines(ax, lines)
        sizes = sorted({point[0] for points in lines.values() for point in points})
        ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, [f"{at:g}" for at in sizes])
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel(size, **text)
        ax.set_title(name, fontsize=9, loc="left", **text)
        finish(ax, families, with_legend=ax is panels[-1])
    figure.suptitle(title, fontsize=12, x=0.01, ha="left", **text)
    return figure
