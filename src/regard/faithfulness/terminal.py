"""The report in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.faithfulness.intervals import Interval
from regard.faithfulness.report import Report, Section, number_text

_STYLES = {"evidence": "green", "partly": "yellow", "not evidence": "red"}


def rendered(report: Report) -> Iterator[RenderableType]:
    """The verdict first, then each test, then how it was done."""
    yield Text(report.headline, style="bold")
    for claim in report.claims:
        label = Text(f"\n{claim.name}: {claim.grade}", style=_STYLES.get(claim.grade, "cyan"))
        yield label
        yield Padding(Text(claim.sentence), (0, 0, 0, 2))
    for section in report.sections:
        yield Text(f"\n{section.name}", style="bold")
        yield Text(section.question)
        yield Padding(_table(section), (0, 0, 0, 2))
        yield Padding(Text(section.method, style="dim"), (0, 0, 0, 2))
    yield Text("\nhow it was done", style="bold")
    for name, value in report.settings.items():
        yield Padding(Text(f"{name}: {value}"), (0, 0, 0, 2))


def _table(section: Section) -> Table:
    two_level = any(estimate.over_trainings for estimate in section.estimates.values())
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(section.unit, overflow="fold")
    columns = [
        "mean",
        "95 %, examples",
        *(["95 %, trainings too"] if two_level else []),
        "examples",
    ]
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for label, estimate in section.estimates.items():
        cells = [number_text(estimate.value), _range(estimate.over_examples)]
        if two_level:
            wider = estimate.over_trainings
            cells.append("" if wider is None else _range(wider))
        table.add_row(Text(label), *cells, str(estimate.num_examples))
    return table


def _range(interval: Interval) -> str:
    return f"{number_text(interval.low)} to {number_text(interval.high)}"
