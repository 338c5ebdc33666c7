"""``regard align``: which source token each target token looked at."""

import os
from pathlib import Path
from typing import Annotated

import typer


def align(
    model: Annotated[Path, typer.Argument(metavar="MODEL_DIR", show_default=False)],
    source: Annotated[str, typer.Argument(metavar="SOURCE", show_default=False)],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET", help="Align this target. Default: the model's own prediction."
        ),
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Also write the picture to this file.")] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Also write a page for the browser to this file: every weight in reach of the "
            "keyboard, without a network."
        ),
    ] = None,
    words: Annotated[
        bool,
        typer.Option(
            "--words",
            help="Where the model reads pieces of words (bpe), show words: sums over the pieces "
            "looked at, averages over those that look.",
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="One JSON object: source and target tokens, weights."),
    ] = False,
) -> None:
    """Show the attention weights as a grid: queries (target) down, keys (source) across.

    A cell says its weight in hundredths. Each row adds up to 1, but for rounding.

    Examples:

      regard align g2p attention
      regard align g2p attention "AH T EH N SH AH N" --png attention.png

      regard align g2p attention --html attention.html

      regard align en-fr "Save the file" --words
    """
    import json

    import torch
    from rich.console import Console

    from regard import plots
    from regard.cli.unknown import UnknownTokens
    from regard.models import Translator
    from regard.plots.alignment import check_path
    from regard.plots.page import check_page_path
    from regard.recording import Trace
    from regard.search import predict
    from regard.text.bpe import SPACE

    if png is not None:
        check_path(png, "--png")
    if html is not None:
        check_page_path(html, "--html")
    source = _text(source, "SOURCE")
    translator = Translator.from_pretrained(model)
    if target is None:
        target = predict(translator, [source])[0].target
        if source and not target:
            raise ValueError(
                f"align: the model predicts nothing for {source!r}, so there is nothing to align. "
                "Give a TARGET."
            )
    target = _text(target, "TARGET")
    weights = translator.align(source, target)
    for name, side, text in (
        ("source", translator.source, source),
        ("target", translator.target, target),
    ):
        unknown = UnknownTokens(side, name)
        unknown.see([text])
        unknown.tell()
    source_tokens = translator.source.tokenizer.tokenize(source)
    target_tokens = translator.target.tokenizer.tokenize(target)
    if words:
        marks = [
            SPACE if side.tokenizer.name == "bpe" else None
            for side in (translator.source, translator.target)
        ]
        if marks == [None, None]:
            raise ValueError(
                "align: --words with a model that reads no pieces of words (source "
                f"{translator.source.tokenizer.name}, target {translator.target.tokenizer.name}). "
                "Leave it out."
            )
        merged, source_tokens, target_tokens = plots.merge_subwords(
            weights, source_tokens, target_tokens, source_mark=marks[0], target_mark=marks[1]
        )
        weights = torch.from_numpy(merged).float()
    if png is not None:
        plots.save(plots.alignment(weights, source_tokens, target_tokens), png)
    if html is not None:
        trace = Trace.of_weights("decoder", weights, [target_tokens], [source_tokens])
        plots.page(trace, html, title=f"{source} → {target}")
    if as_json:
        told = {"source": source_tokens, "target": target_tokens, "weights": weights.tolist()}
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    Console().print(plots.terminal_alignment(weights, source_tokens, target_tokens))


def _text(argument: str, name: str) -> str:
    """The argument as UTF-8, whatever the locale took its bytes for."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"align: {name} is not valid UTF-8. Convert it to UTF-8.") from None
