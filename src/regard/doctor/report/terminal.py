"""The report for people: faults first, each with its place, rule, fix and test."""

import io
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from regard.doctor.findings import CheckResult, Finding, Outcome, Report
from regard.doctor.tracing.symbols import SYMBOLS

_NAMED_AT_MOST = 4  # of the checks that one reason keeps from being made; --json names all


def rendered(report: Report) -> RenderableType:
    """The whole report, for a rich console."""
    return Group(*_blocks(report))


def as_text(report: Report) -> str:
    """The same in plain text, at a width of 100."""
    console = Console(file=io.StringIO(), width=100, color_system=None, force_terminal=False)
    console.print(rendered(report))
    written = console.file
    assert isinstance(written, io.StringIO)
    lines = written.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


def _blocks(report: Report) -> Iterator[RenderableType]:
    if report.question:
        yield Text.assemble(("could not examine ", "bold yellow"), (report.subject, "bold"))
        yield _indented(Text(report.question))
        return
    faults = len(report.findings)
    verdict = "sound" if not faults else "1 fault" if faults == 1 else f"{faults} faults"
    style = "bold red" if faults else "bold green"
    yield Text.assemble(
        (report.subject, "bold"), ": ", (verdict, style), f" ({report.seconds:.1f} s)"
    )
    if report.assumed:
        yield _indented(Text.assemble(("assumed  ", "dim"), "; ".join(report.assumed)))
    if report.sizes:
        yield _indented(Text.assemble(("sizes    ", "dim"), _sizes(report)))
    for number, finding in enumerate(report.findings, 1):
        yield Text()
        yield from _finding(number, finding)
    yield from _list("note", [Text(note) for note in report.notes])
    yield from _checks(report.checks)


def _finding(number: int, finding: Finding) -> Iterator[RenderableType]:
    place = finding.place
    heading = Text.assemble((f"{number}. {finding.fault}", "bold red"), f"  {finding.certainty}")
    yield heading
    at = Text.assemble(("at     ", "dim"), (finding.tensor, "bold"))
    if place is not None:
        at.append(f"{' ' if finding.tensor else ''}in {place.file}:{place.line}")
        at.append(f"\n       {place.code.strip()}", "cyan")
    yield _indented(at)
    yield _indented(Text.assemble(("rule   ", "dim"), finding.rule))
    yield _indented(Text.assemble(("seen   ", "dim"), finding.seen))
    yield _indented(Text.assemble(("fix    ", "dim"), (finding.fix, "green")))
    if finding.test:
        yield _indented(Text("test   fails now and passes once fixed:", "dim"))
        yield Padding(
            Syntax(finding.test.strip(), "python", theme="ansi_dark", background_color="default"),
            (0, 0, 0, 9),
        )
    if finding.checks:
        yield _indented(Text.assemble(("shows  ", "dim"), ", ".join(finding.checks)))


def _checks(checks: tuple[CheckResult, ...]) -> Iterator[RenderableType]:
    by_outcome: dict[Outcome, list[CheckResult]] = {outcome: [] for outcome in Outcome}
    for check in checks:
        by_outcome[check.outcome].append(check)
    expected = by_outcome[Outcome.EXPECTED]
    yield from _list("failed, as expected", [Text(f"{c.name}: {c.reason}") for c in expected])
    passed = by_outcome[Outcome.PASSED]
    if passed:
        yield from _list("passed", [Text(", ".join(c.name for c in passed))])
    yield from _list("not checked", list(_by_reason(by_outcome[Outcome.NOT_CHECKED])))


def _by_reason(unmade: list[CheckResult]) -> Iterator[Text]:
    """A line for each reason, with the checks that it keeps from being made; many are counted."""
    names: dict[str, list[str]] = {}
    for check in unmade:
        names.setdefault(check.reason, []).append(check.name)
    for reason, kept in names.items():
        told = ", ".join(kept) if len(kept) <= _NAMED_AT_MOST else f"{len(kept)} checks"
        yield Text(f"{told}: {reason}")


def _list(title: str, lines: list[Text]) -> Iterator[RenderableType]:
    if lines:
        yield Text()
        yield Text(title, "bold")
        yield from (_indented(line) for line in lines)


def _sizes(report: Report) -> str:
    return ", ".join(f"{SYMBOLS[name]}={size}" for name, size in report.sizes.items())


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))
