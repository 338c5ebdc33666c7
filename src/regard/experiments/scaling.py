"""Dot, scaled dot and additive scores over the width that is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.experiments.cells import Cell, Settings, Table, Tell, measure_all
from regard.experiments.choices import check_compared, check_seeds
from regard.experiments.recalling import AtStart, measure_recall
from regard.experiments.tables import around, grouped, mean, with_interval, write

SCORES = ("dot", "scaled_dot", "additive")
DIMS = range(2, 2049)
_AT_START = AtStart._fields


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Sizes and budget, the same for every score. Updates are counted, not minutes."""

    embed_dim: int = 64
    num_symbols: int = 64
    key_len: int = 16
    updates: int = 2000
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
    _draw(table, to)
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


def _draw(table: Table, to: Path) -> None:
    from regard import plots

    figure = plots.accuracy_by_length(
        {
            score: [(row["key_dim"], *around(row, "accuracy")) for row in rows]
            for score, rows in grouped(table.rows, lambda row: str(row["score"])).items()
        },
        chance=1 / table.settings["budget"]["num_symbols"],
        title=f"Accuracy after {table.settings['budget']['updates']} updates",
    )
    [axes] = figure.axes
    axes.set_xscale("log", base=2)
    axes.set_xlabel("key_dim")
    plots.save(figure, to / "scaling.png")
