"""The report as one HTML page: no script, no request, figures inline."""

import base64
import hashlib
from html import escape
from string import Template

from regard.faithfulness.figures import forest, histogram
from regard.faithfulness.intervals import Interval
from regard.faithfulness.report import Claim, Report, Section, number_text

_STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfa; --ink: #22262b; --soft: #5b636c;
  --line: #d9dcd6; --accent: #205fa6; --pale: #9cc3dc; --good: #1c6b45; --middle: #7a5200;
  --bad: #a32a2a; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e8eaec; --soft: #a4acb4;
  --line: #363c43; --accent: #7ab8e6; --pale: #3d6f94; --good: #6fd0a0; --middle: #e3b75a;
  --bad: #f29a94; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 54rem; padding: 2rem 1.2rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.15rem; color: var(--soft); font-weight: 600; margin: 0; }
h2 { font-size: 1.2rem; margin: 2.8rem 0 0; }
.headline { font-size: 1.5rem; line-height: 1.35; margin: .4rem 0 1.6rem; }
.claims { list-style: none; padding: 0; }
.claims li { border-left: .3rem solid var(--line); padding: .1rem 0 .1rem .9rem; margin: 1rem 0; }
.claims li.evidence { border-color: var(--good); }
.claims li.partly { border-color: var(--middle); }
.claims li.not-evidence, .claims li.cannot-decide { border-color: var(--bad); }
.claims b { display: block; }
.evidence .grade { color: var(--good); } .partly .grade { color: var(--middle); }
.not-evidence .grade, .cannot-decide .grade { color: var(--bad); }
.method, .settings { color: var(--soft); font-size: .9rem; }
.figure { overflow-x: auto; margin: .8rem 0; } svg { width: 100%; min-width: 34rem; height: auto; }
svg text { fill: var(--ink); font-size: 12.5px; } svg .label { text-anchor: end; }
svg .tick { text-anchor: middle; fill: var(--soft); } svg .name { fill: var(--bad); }
svg .grid { stroke: var(--line); } svg .zero { stroke: var(--soft); }
svg .ci { stroke: var(--accent); stroke-width: 5; stroke-opacity: .55; }
svg .wide { stroke: var(--accent); stroke-width: 1.5; } svg .dot { fill: var(--accent); }
svg .bar { fill: var(--pale); } svg .mark { stroke: var(--bad); stroke-dasharray: 4 3; }
.scroll { overflow-x: auto; } summary { cursor: pointer; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
td, th { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
td:first-child, th:first-child { text-align: left; font-weight: 400; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
"""

_PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '$hash'; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What the attention weights are evidence for</title>
<style>$style</style>
</head>
<body>
<main>
<h1>What the attention weights are evidence for</h1>
<p class="headline">$headline</p>
<ul class="claims">
$claims
</ul>
$sections
<h2>How it was done</h2>
<dl class="settings">
$settings
</dl>
</main>
</body>
</html>
"""
)


def page(report: Report) -> str:
    """The whole page. Its policy allows its own style by its hash, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return _PAGE.substitute(
        hash=f"sha256-{digest}",
        style=_STYLE,
        headline=escape(report.headline),
        claims="\n".join(map(_claim, report.claims)),
        sections="\n".join(map(_section, report.sections)),
        settings="\n".join(
            f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
            for name, value in report.settings.items()
        ),
    )


def _claim(claim: Claim) -> str:
    return (
        f'<li class="{claim.grade.replace(" ", "-")}"><b>{escape(claim.name)}: '
        f'<span class="grade">{escape(claim.grade)}</span></b>{escape(claim.sentence)}</li>'
    )


def _section(section: Section) -> str:
    bars = "" if section.histogram is None else _figure(histogram(section.histogram))
    return (
        f"<section>\n<h2>{escape(section.name.capitalize())}</h2>\n"
        f"<p>{escape(section.question)}</p>\n{bars}"
        f"{_figure(forest(section.estimates, section.unit))}"
        f'<p class="method">{escape(section.method)}</p>\n'
        f'<details><summary>The numbers</summary><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(section.name)}, numbers">{_table(section)}</div></details>\n'
        "</section>"
    )


def _figure(svg: str) -> str:
    return f'<div class="figure" tabindex="0" role="region" aria-label="figure">{svg}</div>\n'


def _table(section: Section) -> str:
    rows = []
    for label, found in section.estimates.items():
        wider = "" if found.over_trainings is None else _range(found.over_trainings)
        rows.append(
            f'<tr><th scope="row">{escape(label)}</th><td>{number_text(found.value)}</td>'
            f"<td>{_range(found.over_examples)}</td><td>{wider}</td>"
            f"<td>{found.num_examples}</td></tr>"
        )
    return (
        f'<table><thead><tr><th scope="col">{escape(section.unit)}</th><th scope="col">mean</th>'
        '<th scope="col">95 %, examples</th><th scope="col">95 %, trainings too</th>'
        '<th scope="col">examples</th></tr></thead><tbody>' + "".join(rows) + "</tbody></table>"
    )


def _range(interval: Interval) -> str:
    return f"{number_text(interval.low)} to {number_text(interval.high)}"
