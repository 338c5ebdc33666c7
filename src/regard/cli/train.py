"""``regard train``: from pairs of strings to a model's folder."""

import json
from pathlib import Path
from typing import Annotated

import typer

RNN, TRANSFORMER = "Recurrent model", "Transformer"
"""Panels of the help: options that belong to one family of models."""

Attention = Annotated[
    str | None,
    typer.Option(
        help="additive, dot, scaled_dot, general, concat; uniform (a plain average) or, recurrent, "
        "none (the bottleneck), to compare with. Default: additive; of a transformer scaled_dot.",
        show_default=False,
    ),
]

Tokens = Annotated[
    str | None,
    typer.Option(
        help="characters, whitespace, or bpe (learned pieces of words, for sentences). "
        "Default: guessed from the data."
    ),
]


def train(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="File with one 'source TAB target' a line in UTF-8 (several lines may share a "
            "source), or a built-in name: cmudict, copy, reverse, sort.",
            show_default=False,
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="MODEL_DIR", help="Folder to write.")],
    dev: Annotated[
        Path | None,
        typer.Option(help="Pairs to choose the best model by. Default: some of DATA, held out."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Pairs to report error rates on, once, at the end.")
    ] = None,
    # ---- model; what is not given, the model's config decides
    model: Annotated[str, typer.Option(help="rnn or transformer.")] = "rnn",
    attention: Attention = None,
    embed_dim: Annotated[
        int | None,
        typer.Option(
            help="Width of embeddings; of a transformer, of all its layers. Default: 64; of a "
            "transformer 128."
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            help="Source tokens embedded together, odd. Default: 5 for characters, else 1."
        ),
    ] = None,
    encoder_layers: Annotated[
        int | None,
        typer.Option(help="Layers of the encoder. Default: 1; of a transformer 3."),
    ] = None,
    decoder_layers: Annotated[
        int | None,
        typer.Option(help="Layers of the decoder. Default: 1; of a transformer 3."),
    ] = None,
    tied_embeddings: Annotated[
        bool | None,
        typer.Option(
            "--tied-embeddings/--no-tied-embeddings",
            help="The output's weights are the target's embeddings. Default: they are not.",
            show_default=False,
        ),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            help="bahdanau queries with s(t-1), luong with s(t). Not with --attention none. "
            "Default: bahdanau.",
            rich_help_panel=RNN,
        ),
    ] = None,
    cell: Annotated[
        str | None, typer.Option(help="gru or lstm. Default: gru.", rich_help_panel=RNN)
    ] = None,
    hidden_dim: Annotated[
        int | None,
        typer.Option(help="Width of the decoder's states. Default: 256.", rich_help_panel=RNN),
    ] = None,
    encoder_dim: Annotated[
        int | None,
        typer.Option(
            help="Width of one direction of the encoder. Default: three quarters of --hidden-dim; "
            "for dot and scaled_dot, half of it, or all with --no-bidirectional.",
            rich_help_panel=RNN,
        ),
    ] = None,
    attn_dim: Annotated[
        int | None,
        typer.Option(
            help="Width inside additive and concat. Default: half of --hidden-dim.",
            rich_help_panel=RNN,
        ),
    ] = None,
    bidirectional: Annotated[
        bool | None,
        typer.Option(
            "--bidirectional/--no-bidirectional",
            help="Encoder reads both ways, which is the default.",
            rich_help_panel=RNN,
        ),
    ] = None,
    input_feeding: Annotated[
        bool | None,
        typer.Option(
            "--input-feeding/--no-input-feeding",
            help="Luong: feed the attentional state to the next step.",
            rich_help_panel=RNN,
        ),
    ] = None,
    source_summary: Annotated[
        bool | None,
        typer.Option(
            "--source-summary/--no-source-summary",
            help="Decoder also reads the encoder's final state, which is the default, but not in "
            "the papers.",
            rich_help_panel=RNN,
        ),
    ] = None,
    residual: Annotated[
        bool | None,
        typer.Option(
            "--residual/--no-residual",
            help="Of several layers each but the first adds what it reads to what it gives, which "
            "is the default.",
            rich_help_panel=RNN,
        ),
    ] = None,
    num_heads: Annotated[
        int | None,
        typer.Option(help="Heads of each attention. Default: 4.", rich_help_panel=TRANSFORMER),
    ] = None,
    ff_dim: Annotated[
        int | None,
        typer.Option(
            help="Width inside the feed-forward networks. Default: four times --embed-dim.",
            rich_help_panel=TRANSFORMER,
        ),
    ] = None,
    norm: Annotated[
        str | None,
        typer.Option(
            help="pre or post: normalize before or after each part of a layer. Default: pre.",
            rich_help_panel=TRANSFORMER,
        ),
    ] = None,
    positions: Annotated[
        str | None,
        typer.Option(
            help="sinusoidal or learned. Default: sinusoidal.", rich_help_panel=TRANSFORMER
        ),
    ] = None,
    max_len: Annotated[
        int | None,
        typer.Option(
            help="Longest sequence that learned positions serve. Default: 512.",
            rich_help_panel=TRANSFORMER,
        ),
    ] = None,
    dropout: Annotated[
        float | None,
        typer.Option(help="Dropout probability. Default: 0.3 below 10,000 pairs, else 0.1."),
    ] = None,
    # ---- budget and optimizer
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so much wall-clock time.")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="Stop after so many passes over the data. Default, without --minutes: "
            "about 1.5 million pairs in all, 10 to 200 epochs."
        ),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Pairs per update. Default: 16 to 128, by data size.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Peak. Default: 3e-3 for batches of 128, by their root.")
    ] = None,
    label_smoothing: Annotated[float, typer.Option(help="Label smoothing.")] = 0.1,
    patience: Annotated[
        int, typer.Option(help="Stop after so many evaluations without a better dev score.")
    ] = 20,
    seed: Annotated[int, typer.Option(help="Same seed and --epochs, same model.")] = 1,
    threads: Annotated[
        int | None, typer.Option(help="Cores to train on at once. Default: all.")
    ] = None,
    bf16: Annotated[
        bool, typer.Option(help="Compute in bfloat16, on processors that can.")
    ] = False,
    frozen_scores: Annotated[
        bool,
        typer.Option(
            "--frozen-scores", help="Do not train what compares: a baseline for regard explain."
        ),
    ] = False,
    # ---- data
    source_tokens: Tokens = None,
    target_tokens: Tokens = None,
    num_pieces: Annotated[
        int | None, typer.Option(help="Pieces that bpe learns, of each side. Default: 4000.")
    ] = None,
    length: Annotated[
        int | None, typer.Option(help="Sequence length of copy, reverse and sort. Default: 10.")
    ] = None,
    num_pairs: Annotated[
        int | None, typer.Option(help="Pairs of copy, reverse and sort. Default: 10000.")
    ] = None,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave out bad lines of DATA and count them.")
    ] = False,
    # ---- run
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted training in MODEL_DIR.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a model that is already in MODEL_DIR.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object.")
    ] = False,
) -> None:
    """Train an attentive encoder-decoder on pairs of strings.

    The best model by dev score is kept in MODEL_DIR. Ctrl-C stops at once and loses nothing: go on
    with --resume and otherwise the same options.

    Examples:

      regard train cmudict --to g2p --minutes 10
      regard train train.tsv --dev dev.tsv --test test.tsv --to model
      regard train cmudict --to transformer --model transformer --minutes 10
      regard train reverse --length 20 --to reverse --decoder luong --attention general
    """
    import torch

    from regard.cli import data as cli_data
    from regard.cli.progress import TrainingDisplay
    from regard.cli.training_folder import check_folder
    from regard.kernels import Workers
    from regard.models import Side, Translator
    from regard.training import TrainingOptions, evaluate
    from regard.training import train as run
    from regard.training.lengths import check_lengths

    options = TrainingOptions(
        epochs=epochs,
        minutes=minutes,
        batch_size=batch_size,
        learning_rate=learning_rate,
        label_smoothing=label_smoothing,
        patience=patience,
        seed=seed,
        mixed_precision="bf16" if bf16 else "no",
        num_workers=threads,
        frozen_scores=frozen_scores,
    )
    if bf16 and not _has_bf16():
        raise ValueError(
            "--bf16: this processor has no bfloat16 instructions (AMX or AVX-512 BF16), so it "
            "would only be slower. Leave it out."
        )
    check_folder(to, resume, overwrite)
    pairs = cli_data.load(
        data,
        dev=dev,
        test=test,
        length=length,
        num_pairs=num_pairs,
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        skip_bad_lines=skip_bad_lines,
    )
    choices = {
        "attention": attention,
        "embed_dim": embed_dim,
        "window": (5 if pairs.source_tokens == "characters" else 1) if window is None else window,
        "encoder_layers": encoder_layers,
        "decoder_layers": decoder_layers,
        "decoder": decoder,
        "cell": cell,
        "hidden_dim": hidden_dim,
        "encoder_dim": encoder_dim,
        "attn_dim": attn_dim,
        "bidirectional": bidirectional,
        "input_feeding": input_feeding,
        "source_summary": source_summary,
        "residual": residual,
        "tied_embeddings": tied_embeddings,
        "num_heads": num_heads,
        "ff_dim": ff_dim,
        "norm": norm,
        "positions": positions,
        "max_len": max_len,
        "dropout": (0.3 if len(pairs.train) < 10_000 else 0.1) if dropout is None else dropout,
    }
    if num_pieces is not None and "bpe" not in (pairs.source_tokens, pairs.target_tokens):
        raise ValueError(
            f"--num-pieces {num_pieces} where neither side is cut into pieces (source "
            f"{pairs.source_tokens}, target {pairs.target_tokens}). Leave it out, or choose "
            "--source-tokens bpe or --target-tokens bpe."
        )
    if "bpe" in (pairs.source_tokens, pairs.target_tokens):
        pairs = cli_data.with_note_of_marks(pairs)
    torch.manual_seed(seed)
    source, target = (
        Side.build(tokens, texts, num_pieces=num_pieces if tokens == "bpe" else None)
        for tokens, texts in (
            (pairs.source_tokens, [pair.source for pair in pairs.train]),
            (pairs.target_tokens, [pair.target for pair in pairs.train]),
        )
    )
    translator = Translator.fresh(
        source,
        target,
        model=model,
        **{name: given for name, given in choices.items() if given is not None},
    )
    check_lengths(translator, training=pairs.train, dev=pairs.dev, test=pairs.test)
    with TrainingDisplay(translator, pairs) as display:
        outcome = run(
            translator,
            pairs.train,
            pairs.dev,
            to=to,
            options=options,
            resume=resume,
            report=display.report,
        )
    if outcome.stopped_by == "interrupt":
        kept = "no model was evaluated yet"
        if outcome.position.best is not None:
            kept = f"the best model so far is in {to}"
        typer.echo(f"Stopped. Go on with --resume and the same options; {kept}.", err=True)
        raise typer.Exit(130)
    best = Translator.from_pretrained(to)
    result = {
        "model": str(to),
        "stopped_by": outcome.stopped_by,
        "epochs": outcome.position.epoch,
        "updates": outcome.position.updates,
        "minutes": round(outcome.position.seconds / 60, 2),
        "parameters": best.network.num_parameters(),
    }
    for name, part in (("dev", pairs.dev), ("test", pairs.test)):
        if part:
            with Workers(threads) as workers:
                rates = evaluate(best, part, workers=workers)
            result[name] = {"words": rates.num_words, "wer": rates.wer, "ter": rates.ter}
    typer.echo(json.dumps(result) if as_json else _told(result))


def _has_bf16() -> bool:
    import torch

    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    known = torch.cpu.get_capabilities()
    return bool(known.get("amx_bf16") or known.get("avx512_bf16") or known.get("bf16"))


def _told(result: dict[str, object]) -> str:
    lines = [
        f"Stopped by {result['stopped_by']} after {result['minutes']} minutes, "
        f"{result['updates']} updates."
    ]
    for name in ("dev", "test"):
        if isinstance(rates := result.get(name), dict):
            lines.append(
                f"{name:5} {rates['words']} words: word error rate {rates['wer']:.2%}, "
                f"token error rate {rates['ter']:.2%}"
            )
    return "\n".join([*lines, f"Model in {result['model']}"])
