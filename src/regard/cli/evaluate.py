"""``regard evaluate``: error rates on pairs."""

import json
from pathlib import Path
from typing import Annotated

import typer


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
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave out bad lines and count them.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object.")
    ] = False,
) -> None:
    """Word and token error rate of a model, against the nearest of several targets.

    A word is one source: wrong unless the prediction equals one of its targets. Token errors are
    the edits to the nearest target, per token of it.

    Example:

      regard evaluate g2p test.tsv --json

    With --json: words, word_errors, wer, tokens, token_errors, ter, words_per_second.
    """
    import time

    from regard.cli import data
    from regard.cli.unknown import UnknownTokens
    from regard.kernels import Workers
    from regard.models import Translator
    from regard.training import evaluate as measure

    translator = Translator.from_pretrained(model)
    notes: list[str] = []
    pairs = data.read(test, skip_bad_lines, notes)
    for note in notes:
        typer.echo(note, err=True)
    unknown = UnknownTokens(translator.source, "source")
    unknown.see(dict(pairs))
    unknown.tell()
    start = time.perf_counter()
    with Workers() as workers:
        rates = measure(translator, pairs, workers=workers)
    seconds = time.perf_counter() - start
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "words": rates.num_words,
                    "word_errors": rates.word_errors,
                    "wer": rates.wer,
                    "tokens": rates.num_tokens,
                    "token_errors": rates.token_errors,
                    "ter": rates.ter,
                    "words_per_second": rates.num_words / seconds,
                }
            )
        )
        return
    typer.echo(
        f"{rates.num_words:,} words, {rates.num_words / seconds:,.0f} a second\n"
        f"word error rate   {rates.wer:.2%}  ({rates.word_errors:,} wrong)\n"
        f"token error rate  {rates.ter:.2%}  ({rates.token_errors:,} edits in "
        f"{rates.num_tokens:,} tokens)"
    )
