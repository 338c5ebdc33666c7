"""``regard bottleneck``: accuracy against length, without attention and with it."""

from pathlib import Path
from typing import Annotated

import typer


def bottleneck(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder to write.")] = Path(
        "runs/bottleneck"
    ),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Lengths 5, 10 and 20, one seed, smaller models, fewer pairs: about three minutes "
            "on two cores. Default: hours.",
        ),
    ] = False,
    lengths: Annotated[
        str | None,
        typer.Option(
            help="Lengths to compare. Default: 5,10,20,40,80; quick 5,10,20; mixed 10,20,30,40; "
            "both 5,10,15,20.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Trainings of each model. Default: 3; quick 1.", show_default=False),
    ] = None,
    mixed: Annotated[
        bool,
        typer.Option(
            "--mixed",
            help="Train one model on all lengths from 1 to 20 (quick: 10), and test beyond them.",
        ),
    ] = False,
    task: Annotated[str, typer.Option(help="copy, reverse or sort.")] = "copy",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the table as one JSON object.")
    ] = False,
) -> None:
    """Show what attention is for: accuracy against length, without it and with it.

    Recurrent encoder-decoders without attention, with Bahdanau's and with Luong's are trained to
    copy letters, with the same sizes and budget. Without attention one state of fixed size has to
    hold the whole source. Tested are unseen sequences, and for each step whether the largest weight
    is where its letter comes from.

    Every finished training is kept in DIR/cells. Ctrl-C loses only the one it stops; the same
    command goes on.

    Examples:

      regard bottleneck --quick
      regard bottleneck --to runs/bottleneck --seeds 5
      regard bottleneck --mixed --to runs/mixed

    In DIR: the table as .csv and .json, and pictures of tokens right, sequences right, alignment.
    """
    from regard.cli import experiment
    from regard.experiments import Bottleneck
    from regard.experiments import bottleneck as measure
    from regard.experiments.bottleneck import FULL, QUICK

    standing = {
        (False, False): (5, 10, 20, 40, 80),
        (True, False): (5, 10, 20),
        (False, True): (10, 20, 30, 40),
        (True, True): (5, 10, 15, 20),
    }[quick, mixed]
    asked = Bottleneck(
        task=task,
        lengths=experiment.whole_numbers(lengths, "--lengths") or standing,
        train_up_to=(10 if quick else 20) if mixed else None,
        seeds=(1 if quick else 3) if seeds is None else seeds,
        budget=QUICK if quick else FULL,
    )
    table = experiment.run(lambda tell: measure(asked, to=to, tell=tell), to)
    trained = f"trained on 1 to {asked.train_up_to}" if mixed else "each length trained for itself"
    guesses = f"a guess gets {100 * table.rows[0]['chance']:.1f} % of tokens right"
    experiment.show(
        table,
        {
            "length": lambda row: str(row["length"]),
            "model": lambda row: str(row["model"]),
            "tokens right, %": experiment.percent("tokens_right"),
            "sequences right, %": experiment.percent("sequences_right"),
            "aligned, %": experiment.percent("steps_right"),
            "AER": experiment.number("alignment_error_rate", 3),
        },
        title=f"{task}, {trained}; {asked.seeds} seed(s), 95 % intervals; {guesses}",
        files=[to / f"{asked.stem}.csv", to / f"{asked.stem}.json", *asked.pictures(to)],
        as_json=as_json,
    )
