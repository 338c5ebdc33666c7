"""``regard explain``: what a model's attention weights may be taken as evidence for."""

import json
import re
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
    margin: Annotated[
        float,
        typer.Option(
            help="Accuracy that a baseline may lose, by the interval, and still does as well."
        ),
    ] = 0.01,
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
    that was never trained, is as accurate, or there is too little data to tell, this data cannot
    decide, and the report stops. Then weights are shuffled, replaced by an adversary's, and erased,
    inputs are removed, and trainings compared. Every number has its interval and its baselines.

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
    from regard.plots.page import check_page_path

    if html is not None:
        check_page_path(html, "--html")
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
        try:
            report = examine(
                translator,
                pairs,
                seeds=_read(seed_model),
                uniform=_read(uniform),
                frozen=_read(frozen),
                targets=targets,
                max_examples=max_examples,
                seed=seed,
                margin=margin,
                despite_precondition=anyway,
                tell=lambda fraction, what: bar.update(task, completed=fraction, description=what),
            )
        except ValueError as error:
            options = {
                "seeds": ("--seed-model", seed_model),
                "uniform": ("--uniform", uniform),
                "frozen": ("--frozen", frozen),
            }
            raise ValueError(_as_given(str(error), model, options)) from None
    if as_json:
        typer.echo(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        Console().print(report, highlight=False)
    if html is not None:  # last: whatever befalls the file, the report was told
        report.to_html(html)


def _read(folders: list[Path] | None) -> "list[Translator]":
    from regard.models import Translator

    return [Translator.from_pretrained(folder) for folder in folders or []]


def _as_given(message: str, model: Path, options: dict[str, tuple[str, list[Path] | None]]) -> str:
    """With the folders that were given in place of Python's ``translator`` and ``uniform[0]``."""

    def given(found: re.Match[str]) -> str:
        if found["group"] is None:
            return str(model)
        option, folders = options[found["group"]]
        return f"{option} {(folders or [])[int(found['place'])]}"

    return re.sub(
        rf"\b(?:translator|(?P<group>{'|'.join(options)})\[(?P<place>\d+)\])", given, message
    )
