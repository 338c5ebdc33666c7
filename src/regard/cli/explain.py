"""``regard explain``: what a model's attention weights may be taken as evidence for."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.models import Translator


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL_DIR", show_default=False)],
    test: Annotated[
        Path,
        typer.Argument(
            metavar="TEST.tsv",
            help="One 'source TAB target' a line; lines that share a source are all right.",
            show_default=False,
        ),
    ],
    seed_model: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="The same model trained with another --seed. May be repeated."
        ),
    ] = None,
    uniform: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="The same model trained with uniform attention. May be repeated."
        ),
    ] = None,
    frozen: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="The same model trained with its scores frozen as drawn. May be repeated.",
        ),
    ] = None,
    max_examples: Annotated[
        int, typer.Option(help="Sources to examine, drawn at random; accuracy takes all.")
    ] = 200,
    seed: Annotated[int, typer.Option(help="Of every draw.")] = 1,
    targets: Annotated[
        str,
        typer.Option(help="Explain the model's own 'predicted' targets or the 'reference' ones."),
    ] = "predicted",
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Go on where the data cannot decide; the verdict remains."),
    ] = False,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave out bad lines and count them.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as one JSON object.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write the report, with figures, to this file.")
    ] = None,
) -> None:
    """Test what a model's attention weights may be taken as evidence for.

    High weight is not evidence by itself. First the precondition: if attention that is uniform, or
    that was never trained, is as accurate, this data cannot decide, and the report stops. Then
    weights are shuffled, replaced by an adversary's, and erased, inputs are removed, and trainings
    compared. Every number has its interval and its baselines.

    Examples:

      regard train cmudict --to uniform --attention uniform
      regard train cmudict --to frozen --frozen-scores
      regard train cmudict --to second --seed 2
      regard explain g2p test.tsv --seed-model second --uniform uniform --frozen frozen

    With --json: headline, settings; claims, each with name, grade, sentence; and sections, each
    with name, question, method, unit, histogram and estimates, each with value, over_examples,
    over_trainings, num_examples.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    from regard.cli import data
    from regard.cli.unknown import UnknownTokens
    from regard.faithfulness import explain as examine
    from regard.models import Translator

    if html is not None:
        _check_html(html)
    translator = Translator.from_pretrained(model)
    notes: list[str] = []
    pairs = data.read(test, skip_bad_lines, notes)
    for note in notes:
        typer.echo(note, err=True)
    unknown = UnknownTokens(translator.source, "source")
    unknown.see(dict(pairs))
    unknown.tell()
    console = Console(stderr=True)
    with Progress(
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%  {task.description}"),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task("starting", total=1.0)
        report = examine(
            translator,
            pairs,
            seeds=_read(seed_model),
            uniform=_read(uniform),
            frozen=_read(frozen),
            targets=targets,
            max_examples=max_examples,
            seed=seed,
            despite_precondition=anyway,
            tell=lambda fraction, what: bar.update(task, completed=fraction, description=what),
        )
    if html is not None:
        report.to_html(html)
    if as_json:
        typer.echo(json.dumps(report.to_json(), ensure_ascii=False))
        return
    Console().print(report, highlight=False)


def _read(folders: list[Path] | None) -> "list[Translator]":
    from regard.models import Translator

    return [Translator.from_pretrained(folder) for folder in folders or []]


def _check_html(path: Path) -> None:
    """Before the work, not after it."""
    if path.is_dir():
        raise ValueError(f"--html {str(path)!r} is a folder. Give the name of a file.")
    if not path.parent.is_dir():
        raise ValueError(
            f"--html {str(path)!r} is to be in a folder that does not exist. Make it first."
        )
