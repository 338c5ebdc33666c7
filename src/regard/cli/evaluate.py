"""``regard evaluate``: error rates on pairs, with intervals and by length."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.training.bootstrap import Estimate
    from regard.training.report import Part, Report


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL_DIR", show_default=False)],
    test: Annotated[
        Path,
        typer.Argument(
            metavar="TEST.tsv",
            help="One 'source TAB target' a line; lines that share a source are all right.",
            show_default=False,
        ),
    ],
    beam: Annotated[
        int, typer.Option(help="Hypotheses kept at each step; 1 is greedy search.")
    ] = 1,
    length_penalty: Annotated[
        float,
        typer.Option(help="Above 0 favors longer targets: alpha of Wu et al. 2016. 0.6 is common."),
    ] = 0.0,
    with_bleu: Annotated[
        bool | None,
        typer.Option(
            "--bleu/--no-bleu",
            help="BLEU and chrF. Default: where both sides are cut into words.",
        ),
    ] = None,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave out bad lines and count them.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object.")
    ] = False,
) -> None:
    """Word and token error rate of a model, against the nearest of several targets.

    A word is one source: wrong unless the prediction equals one of its targets. Token errors are
    the edits to the nearest target, per token of it. BLEU and chrF are sacrebleu's, on the texts.

    In brackets are 95 % intervals: percentile bootstrap over the sources. They are about the choice
    of test sources, and have no width where all are right, or all wrong. The same follows for up to
    four parts of the sources by their length in tokens, cut at the quartiles.

    Examples:

      regard evaluate g2p test.tsv
      regard evaluate g2p test.tsv --beam 5 --json

    With --json: words, word_errors, wer, tokens, token_errors, ter, words_per_second; wer_interval,
    ter_interval; by_length, a list of the same; bootstrap; with BLEU also bleu, chrf, their
    intervals and signatures.
    """
    from regard.cli import data
    from regard.cli.unknown import UnknownTokens
    from regard.kernels import Workers
    from regard.models import Translator
    from regard.training import evaluate_by_length

    translator = Translator.from_pretrained(model)
    notes: list[str] = []
    pairs = data.read(test, skip_bad_lines, notes)
    for note in notes:
        typer.echo(note, err=True)
    unknown = UnknownTokens(translator.source, "source")
    unknown.see(dict(pairs))
    unknown.tell()
    with Workers() as workers:
        report = evaluate_by_length(
            translator,
            pairs,
            with_bleu=with_bleu,
            beam=beam,
            length_penalty=length_penalty,
            workers=workers,
        )
    words_per_second = report.all.num_words / report.seconds
    if as_json:
        typer.echo(json.dumps(_as_json(report) | {"words_per_second": words_per_second}))
        return
    typer.echo(f"{report.all.num_words:,} words, {words_per_second:,.0f} a second")
    typer.echo("\n".join(_lines(report)))
    if with_bleu is None and report.all.bleu is None:
        typer.echo(
            "BLEU and chrF are left out: they compare words, and a side of this model is cut"
        )
        typer.echo("into characters. Ask for them with --bleu.")


def _as_json(report: "Report") -> dict[str, object]:
    return {
        **_part_as_json(report.all),
        "by_length": [
            {"shortest": part.shortest, "longest": part.longest, **_part_as_json(part)}
            for part in report.by_length
        ],
        "bootstrap": {
            "level": report.level,
            "resamples": report.resamples,
            "seed": report.seed,
            "over": "sources",
        },
        **({"signatures": report.signatures} if report.signatures else {}),
    }


def _part_as_json(part: "Part") -> dict[str, object]:
    counts = part.counts
    told: dict[str, object] = {
        "words": counts.num_words,
        "word_errors": counts.word_errors,
        "wer": counts.wer,
        "tokens": counts.num_tokens,
        "token_errors": counts.token_errors,
        "ter": counts.ter,
    }
    estimates = {"wer": part.wer, "ter": part.ter, "bleu": part.bleu, "chrf": part.chrf}
    for name, estimate in estimates.items():
        if estimate is not None:
            told[name] = estimate.value
            told[f"{name}_interval"] = [estimate.low, estimate.high]
    return told


def _lines(report: "Report") -> list[str]:
    whole, counts = report.all, report.all.counts
    lines = [
        f"word error rate   {_share(whole.wer)}  ({counts.word_errors:,} wrong)",
        f"token error rate  {_share(whole.ter)}  ({counts.token_errors:,} edits in "
        f"{counts.num_tokens:,} tokens)",
    ]
    for name, score in (("BLEU", whole.bleu), ("chrF", whole.chrf)):
        if score is not None:
            lines.append(f"{name:16}  {_points(score)}  ({report.signatures[name.lower()]})")
    lines += ["", *_table(report.by_length), ""]
    lines.append(
        f"[{report.level:.0%} intervals: percentile bootstrap over the {whole.num_words:,} "
        f"sources, {report.resamples:,} resamples, seed {report.seed}]"
    )
    return lines


def _table(parts: "list[Part]") -> list[str]:
    rows = [["source tokens", "words", "word error rate", "token error rate", "BLEU", "chrF"]]
    for part in parts:
        one_length = part.shortest == part.longest
        rows.append(
            [
                f"{part.shortest}" if one_length else f"{part.shortest} to {part.longest}",
                f"{part.num_words:,}",
                _share(part.wer),
                _share(part.ter),
                *(_points(score) for score in (part.bleu, part.chrf) if score is not None),
            ]
        )
    columns = list(zip(*rows, strict=False))  # without the two names that no row has
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in zip(*columns, strict=True)
    ]


def _share(rate: "Estimate") -> str:
    return f"{rate.value:.2%} [{rate.low:.2%}, {rate.high:.2%}]"


def _points(score: "Estimate") -> str:
    return f"{score.value:.1f} [{score.low:.1f}, {score.high:.1f}]"
