"""``regard scaling``: dot, scaled dot and additive scores over the width that is compared."""

from pathlib import Path
from typing import Annotated

import typer


def scaling(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder to write.")] = Path(
        "runs/scaling"
    ),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Widths 8, 64 and 512, one seed, 600 updates: about two minutes on one core.",
        ),
    ] = False,
    key_dims: Annotated[
        str | None,
        typer.Option(
            help="Widths to compare. Default: 8,16,32,64,128,256,512; quick 8,64,512.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Trainings of each score. Default: 3; quick 1.", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the table as one JSON object.")
    ] = False,
) -> None:
    """Show what √d is for: dot, scaled_dot and additive scores at small and large key dims.

    One attention is trained to find, among 16 pairs of a name and a symbol, the one with the name
    asked for. Reported are its accuracy, the updates until 90 % are right, and at the start the
    weights' entropy, the slope of the softmax (the norm of its Jacobian) and the norm of the
    gradient for the projections of query and key.

    Every finished training is kept in DIR/cells. Ctrl-C loses only the one it stops; the same
    command goes on.

    Examples:

      regard scaling --quick
      regard scaling --to runs/scaling --seeds 5

    In DIR: scaling.csv, scaling.json and scaling.png.
    """
    from regard.cli import experiment
    from regard.experiments import Scaling
    from regard.experiments import scaling as measure
    from regard.experiments.scaling import FULL, QUICK

    asked = Scaling(
        key_dims=experiment.whole_numbers(key_dims, "--key-dims")
        or ((8, 64, 512) if quick else (8, 16, 32, 64, 128, 256, 512)),
        seeds=(1 if quick else 3) if seeds is None else seeds,
        budget=QUICK if quick else FULL,
    )
    table = experiment.run(lambda tell: measure(asked, to=to, tell=tell), to)
    experiment.show(
        table,
        {
            "key_dim": lambda row: str(row["key_dim"]),
            "score": lambda row: str(row["score"]),
            "accuracy, %": experiment.percent("accuracy"),
            f"{asked.budget.reached:.0%} after": experiment.number("updates_to_reach", 0),
            "entropy": experiment.number("entropy_at_start", 2),
            "slope": experiment.number("slope_at_start", 3),
            "gradient": experiment.number("gradient_norm_at_start", 4),
        },
        title=f"recall after {asked.budget.updates} updates; {asked.seeds} seed(s), "
        "95 % intervals; entropy, slope and gradient at the start",
        files=[to / f"scaling.{kind}" for kind in ("csv", "json", "png")],
        as_json=as_json,
    )
