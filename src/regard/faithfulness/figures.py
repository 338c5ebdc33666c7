"""Figures as inline SVG: colours come from the page's style, so that they follow dark mode."""

from collections.abc import Mapping
from html import escape

import numpy as np

from regard.faithfulness.intervals import Estimate
from regard.faithfulness.report import Histogram, interval_text, number_text

_WIDTH, _LABELS, _ROW, _RIGHT = 720.0, 270.0, 24.0, 20.0


def forest(estimates: Mapping[str, Estimate], unit: str) -> str:
    """A dot and its interval a line: thick over examples, thin over trainings too."""
    drawn = {label: found for label, found in estimates.items() if not np.isnan(found.value)}
    ends = [0.0]
    for found in drawn.values():
        ends += [found.value, *_ends(found)]
    if max(ends) == min(ends):
        ends.append(1.0)  # all is 0: any scale shows it
    ticks = _ticks(min(ends), max(ends))
    left, right = min(ticks[0], min(ends)), max(ticks[-1], max(ends))

    def x(number: float) -> str:
        return f"{_LABELS + (number - left) / (right - left) * (_WIDTH - _LABELS - _RIGHT):.1f}"

    height = _ROW * len(drawn)
    parts = []
    for tick in ticks:
        kind = "zero" if tick == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{x(tick)}" x2="{x(tick)}" y1="0" y2="{height}"/>')
        parts.append(f'<text class="tick" x="{x(tick)}" y="{height + 16}">{tick:g}</text>')
    for place, (label, found) in enumerate(drawn.items()):
        y = _ROW * place + _ROW / 2
        parts.append(f'<text class="label" x="{_LABELS - 12}" y="{y + 4}">{escape(label)}</text>')
        for kind, interval in (("wide", found.over_trainings), ("ci", found.over_examples)):
            if interval is not None:
                parts.append(
                    f'<line class="{kind}" x1="{x(interval.low)}" x2="{x(interval.high)}" '
                    f'y1="{y}" y2="{y}"/>'
                )
        parts.append(
            f'<circle class="dot" cx="{x(found.value)}" cy="{y}" r="4.5">'
            f"<title>{escape(label)}: {interval_text(found)}</title></circle>"
        )
    parts.append(
        f'<text class="tick" x="{(_LABELS + _WIDTH - _RIGHT) / 2}" y="{height + 34}">'
        f"{escape(unit)}</text>"
    )
    return _svg(height + 40, f"{unit}: a dot and an interval for each line of the table", parts)


def histogram(drawn: Histogram) -> str:
    """Bars, with the numbers to compare with as lines."""
    height, top = 170.0, 22.0
    left, right = drawn.edges[0], drawn.edges[-1]
    most = max(*drawn.counts, 1)

    def x(number: float) -> float:
        return 30 + (number - left) / (right - left) * (_WIDTH - 60)

    parts = []
    for count, low, high in zip(drawn.counts, drawn.edges, drawn.edges[1:], strict=False):
        tall = (height - top) * count / most
        parts.append(
            f'<rect class="bar" x="{x(low) + 1:.1f}" y="{height - tall:.1f}" '
            f'width="{x(high) - x(low) - 2:.1f}" height="{tall:.1f}">'
            f"<title>{number_text(low)} to {number_text(high)}: {count}</title></rect>"
        )
    for tick in _ticks(left, right):
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{height + 16}">{tick:g}</text>')
    for name, mark in drawn.marks.items():
        anchor = "end" if mark > (left + right) / 2 else "start"
        parts.append(
            f'<line class="mark" x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="0" y2="{height}"/>'
            f'<text class="name" text-anchor="{anchor}" x="{x(mark):.1f}" '
            f'dx="{-5 if anchor == "end" else 5}" y="12">{escape(name)} {number_text(mark)}</text>'
        )
    parts.append(
        f'<text class="tick" x="{_WIDTH / 2}" y="{height + 34}">{escape(drawn.label)}</text>'
    )
    return _svg(height + 40, drawn.label, parts)


def _ends(found: Estimate) -> list[float]:
    intervals = [found.over_examples, *([found.over_trainings] if found.over_trainings else [])]
    return [end for interval in intervals for end in (interval.low, interval.high)]


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers over a range, about five."""
    spread = max(high - low, 1e-3)
    unit = 10.0 ** np.floor(np.log10(spread / 5))
    step = next(unit * factor for factor in (1, 2, 5, 10) if spread / (unit * factor) <= 6)
    places = range(int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9)) + 1)
    return [float(f"{place * step:.6g}") for place in places]


def _svg(height: float, what: str, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" aria-label="{escape(what)}">'
        + "".join(parts)
        + "</svg>"
    )
