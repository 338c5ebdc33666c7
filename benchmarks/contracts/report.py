"""The answers as a table for the terminal, as a page and as JSON."""

import json
from collections.abc import Iterator

from rich.box import SIMPLE
from rich.table import Table

from benchmarks.contracts.contestants import Answered
from benchmarks.contracts.questions import QUESTIONS
from benchmarks.contracts.verdict import Kind, Verdict

COLOURS: dict[Kind, str] = {
    "right": "green",
    "wrong": "bold red",
    "refuses": "yellow",
    "says": "",
    "cannot": "dim",
}
LEGEND = (
    "✓ right; ✗ wrong; err: an error where there is a right answer; –: it has no such feature. "
    "Where either answer would do, the answer itself."
)
PAGE = """\
# The same questions, put to peers

Attention layers from PyPI and ours get the same small tensors, each library in its own process
and by its own documented conventions (`benchmarks/peers/*_attention.py` translates), with every
projection an identity. Each answer is compared with a float64 computation of the formula that
loops over the queries and looks only at the keys that each may see
(`benchmarks/contracts/definition.py`). The page is written, its answers computed, by

    python -m benchmarks.contracts --markdown docs/peers.md

with the environments of [benchmarks/peers/README.md](../benchmarks/peers/README.md), on the CPU.
OpenNMT-py asks for an older torch than the one it was run with here.

Not all that counts as right here is arithmetic. These are our choices, and some peers document
another: a query with nothing to see gets zero, the sum over no keys; NaN at a hidden position has
no effect, though 0 · NaN is NaN; returned weights are those before dropout; a mask of numbers may
not mean something else than the bool mask (torch adds it to the scores); a batch of 1 is not
stretched unasked (torch broadcasts); the batch comes first (`nn.MultiheadAttention` has it second
unless told otherwise). The rest is the formula.

## Contestants

{contestants}

## Answers

{legend}

{table}

## In words
"""


def terminal_table(answered: list[Answered]) -> Table:
    """Questions down, contestants across, by their numbers."""
    table = Table(caption=LEGEND, box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("question", no_wrap=True)
    for number in range(1, len(answered) + 1):
        table.add_column(str(number), justify="center")
    for name, verdicts in _rows(answered):
        cells = [_coloured(verdict) for verdict in verdicts]
        table.add_row(name, *cells)
    return table


def contestants_table(answered: list[Answered]) -> Table:
    """Who has which number, and in which versions."""
    table = Table("", "contestant", "formula", "versions", box=None)
    for number, row in enumerate(_legend(answered), start=1):
        table.add_row(str(number), *row)
    return table


def page(answered: list[Answered], skipped: list[str]) -> str:
    """Markdown."""
    contestants = _markdown(
        ["", "contestant", "formula", "versions"],
        [[str(n), *row] for n, row in enumerate(_legend(answered), start=1)],
    )
    if skipped:
        contestants += "\n\nNot asked: " + "; ".join(skipped) + "."
    table = _markdown(
        ["question", *(str(number) for number in range(1, len(answered) + 1))],
        [[name, *(verdict.mark for verdict in verdicts)] for name, verdicts in _rows(answered)],
    )
    return PAGE.format(contestants=contestants, legend=LEGEND, table=table) + "".join(
        _in_words(answered)
    )


def as_json(answered: list[Answered]) -> str:
    """Every verdict, by contestant and question."""
    told = [
        {
            "contestant": one.contestant.name,
            "score": one.contestant.score,
            "versions": one.versions,
            "answers": {
                question.name: verdict._asdict()
                for question, verdict in zip(QUESTIONS, one.verdicts, strict=True)
            },
        }
        for one in answered
    ]
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _in_words(answered: list[Answered]) -> Iterator[str]:
    for index, question in enumerate(QUESTIONS):
        yield f"\n### {question.name[0].upper()}{question.name[1:]}\n\n"
        yield f"Right: {question.right}\n\n"
        told: dict[Verdict, list[str]] = {}
        for number, one in enumerate(answered, start=1):
            told.setdefault(one.verdicts[index], []).append(str(number))
        for verdict, numbers in told.items():
            mark = "" if verdict.mark in verdict.words else f"{verdict.mark} "
            yield f"- {', '.join(numbers)}: {mark}{_short(verdict.words)}\n"


def _rows(answered: list[Answered]) -> Iterator[tuple[str, list[Verdict]]]:
    for index, question in enumerate(QUESTIONS):
        yield question.name, [one.verdicts[index] for one in answered]


def _legend(answered: list[Answered]) -> list[list[str]]:
    formulas = {
        "scaled_dot": "q·k/√d",
        "dot": "q·k",
        "additive": "v·tanh(q + k)",
    }
    return [
        [
            one.contestant.name,
            formulas[one.contestant.score],
            ", ".join(f"{name} {version}" for name, version in one.versions.items()),
        ]
        for one in answered
    ]


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    align = ["---", *(":-:" if len(head) > 4 else "---" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, align, *rows])


def _coloured(verdict: Verdict) -> str:
    colour = COLOURS[verdict.kind]
    return f"[{colour}]{verdict.mark}[/]" if colour else verdict.mark


def _short(words: str, limit: int = 170) -> str:
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"
