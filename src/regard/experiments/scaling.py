"""Dot, scaled dot and additive scores over the width that is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.experiments.cells import Cell, Settings, Table, Tell, measure_all
from regard.experiments.choices import check_compared, check_seeds
from regard.experiments.recalling import AtStart, measure_recall
from regard.experiments.tables import grouped, mean, with_interval, write

SCORES = ("dot", "scaled_dot", "additive")
DIMS = range(2, 2049)
_AT_START = AtStart._fields
_Point = tuple[float | int, ...]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Sizes and budget, the same for every score. Updates are counted, not minutes."""

    embed_dim: int = 64
    num_symbols: int = 64
    key_len: int = 16
    updates: int = 1000
    batch_size: int = 128
    learning_rate: float = 1e-3
    num_test: int = 1000
    evaluate_every: int = 20
    reached: float = 0.9
    """Test accuracy whose first update is reported."""


FULL = Budget()
QUICK = Budget(updates=600)


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """What to compare.

    Args:
        key_dims: widths of query and key.
        seeds: trainings of each score and width, with the seeds 1, 2, ...
        budget: sizes and budget.

    Raises:
        ValueError: a width out of its range or twice, or no seed.
    """

    key_dims: Sequence[int] = (8, 16, 32, 64, 128, 256, 512)
    seeds: int = 3
    budget: Budget = FULL

    def __post_init__(self) -> None:
        check_compared("key_dims", self.key_dims, DIMS)
        check_seeds(self.seeds)

    def cells(self) -> dict[str, Settings]:
        """Settings of each training, by its name."""
        return {
            f"dim-{key_dim}-{score}-seed-{seed}": {
                "score": score,
                "key_dim": key_dim,
                "seed": seed,
                **asdict(self.budget),
            }
            for seed in range(1, self.seeds + 1)
            for key_dim in sorted(self.key_dims)
            for score in SCORES
        }


def scaling(experiment: Scaling, *, to: Path, tell: Tell = lambda share, what: None) -> Table:
    """Train one attention on :mod:`regard.experiments.recall` with each score and width.

    Dot products of independent components of variance 1 have variance d, so softmax is nearly
    one-hot where d is large, and passes little gradient; 1/√d undoes it (Vaswani et al. 2017,
    arXiv:1706.03762, section 3.2.1). Finished trainings are kept in ``to/cells``, and the same call
    goes on from there. At the end ``to`` holds ``scaling.csv``, ``.json`` and ``.png``.

    Args:
        experiment: what to compare.
        to: folder to write.
        tell: told how far it is.

    Raises:
        CellError: ``to/cells`` holds another experiment's cells.
        KeyboardInterrupt: stopped; what is finished is kept.

    >>> list(Scaling(key_dims=[8], seeds=1).cells())
    ['dim-8-dot-seed-1', 'dim-8-scaled_dot-seed-1', 'dim-8-additive-seed-1']
    """
    cells = measure_all(experiment.cells(), measure_recall, folder=to / "cells", tell=tell)
    settings = asdict(experiment) | {"key_dims": list(experiment.key_dims)}
    by_row = grouped(cells, lambda cell: (cell.settings["key_dim"], cell.settings["score"]))
    table = Table("scaling", settings, [_row(*row, of_row) for row, of_row in by_row.items()])
    write(table, to, "scaling")
    _draw(cells, to, experiment)
    return table


def _row(key_dim: int, score: str, cells: Sequence[Cell]) -> dict[str, Any]:
    measured = [cell.measured for cell in cells]
    reached = [m["updates_to_reach"] for m in measured]
    return {
        "key_dim": key_dim,
        "score": score,
        **with_interval("accuracy", [m["right"] for m in measured]),
        "updates_to_reach": mean(reached),
        "seeds_that_reached": sum(r is not None for r in reached),
        **{f"{name}_at_start": mean(m["at_start"][name] for m in measured) for name in _AT_START},
        "seeds": len(cells),
        "test_questions": len(measured[0]["right"]),
        "updates": cells[0].settings["updates"],
        "seconds": mean(m["seconds"] for m in measured),
    }


def _draw(cells: Sequence[Cell], to: Path, experiment: Scaling) -> None:
    from regard import plots
    from regard.plots.measures import measures_by_size

    of_score = grouped(cells, lambda cell: str(cell.settings["score"]))

    def lines(measure: Callable[[Mapping[str, Any]], float | None]) -> dict[str, list[_Point]]:
        """For each score its mean at each width, and the least and most of any seed."""
        return {score: _points(of_one, measure) for score, of_one in of_score.items()}

    budget = experiment.budget
    figure = measures_by_size(
        {
            f"updates until {budget.reached:.0%} are right": lines(lambda m: m["updates_to_reach"]),
            f"share right after {budget.updates}": lines(lambda m: mean(m["right"])),
            "entropy of the weights at the start": lines(lambda m: m["at_start"]["entropy"]),
            "gradient of the projections there": lines(lambda m: m["at_start"]["gradient_norm"]),
        },
        size="key_dim",
        title="One attention, by the width it compares: means, and every seed within the band",
    )
    plots.save(figure, to / "scaling.png")


def _points(
    cells: Sequence[Cell], measure: Callable[[Mapping[str, Any]], float | None]
) -> list[_Point]:
    by_width = grouped(cells, lambda cell: int(cell.settings["key_dim"]))
    found = {width: [measure(cell.measured) for cell in of] for width, of in by_width.items()}
    there = {width: [m for m in of if m is not None] for width, of in found.items()}
    return [(width, sum(of) / len(of), min(of), max(of)) for width, of in there.items() if of]
