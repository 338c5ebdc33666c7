"""The report: what was asked, what was found, and how sure it is."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult

from regard.faithfulness.intervals import Estimate


@dataclass(frozen=True)
class Histogram:
    """Numbers of decisions in bins of equal width."""

    label: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    marks: Mapping[str, float]
    """Numbers to compare with, by name."""


@dataclass(frozen=True)
class Section:
    """One test."""

    name: str
    question: str
    method: str
    """The intervention in words: what was changed, what was held, what was renormalized."""
    unit: str
    estimates: Mapping[str, Estimate]
    histogram: Histogram | None = None


@dataclass(frozen=True)
class Claim:
    """One thing that weights may be said to show, and whether they do here."""

    name: str
    grade: str
    """``evidence``, ``partly``, ``not evidence``, ``cannot decide`` or ``not tested``."""
    sentence: str


@dataclass(frozen=True)
class Report:
    """What :func:`regard.faithfulness.explain` found.

    ``print(report)`` with rich shows it in a terminal, :meth:`to_json` gives plain data,
    :meth:`to_html` writes one page that needs nothing else.
    """

    headline: str
    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def section(self, name: str) -> Section:
        """The test of this name.

        Raises:
            KeyError: it was not run.
        """
        for section in self.sections:
            if section.name == name:
                return section
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``json.dumps``; what has no value is None."""
        return _without_nan(asdict(self))

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write one HTML file with the figures, which loads nothing from anywhere.

        Raises:
            ValueError: the path does not end with .html, or its directory does not exist.
            OSError: it cannot be written.
        """
        from regard.core.files import write_atomically
        from regard.faithfulness.page import page
        from regard.plots.page import check_page_path

        check_page_path(Path(path), "Report.to_html")
        write_atomically(Path(path), page(self).encode())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from regard.faithfulness.terminal import rendered

        yield from rendered(self)


def number_text(number: float) -> str:
    """Three digits, without a zero that is not there.

    >>> number_text(0.12345), number_text(float("nan"))
    ('0.123', 'none')
    """
    return "none" if math.isnan(number) else f"{number:.3f}"


def interval_text(estimate: Estimate) -> str:
    """The value and its wider interval.

    >>> from regard.faithfulness.intervals import Interval
    >>> interval_text(Estimate(0.5, Interval(0.4, 0.62), None, 7))
    '0.500 (0.400 to 0.620)'
    """
    interval = estimate.interval
    value, low, high = map(number_text, (estimate.value, interval.low, interval.high))
    return value if math.isnan(estimate.value) else f"{value} ({low} to {high})"


def _without_nan(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {name: _without_nan(part) for name, part in data.items()}
    if isinstance(data, list | tuple):
        return [_without_nan(part) for part in data]
    return None if isinstance(data, float) and math.isnan(data) else data
