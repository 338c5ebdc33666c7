"""Accuracy against length, without and with attention: what a fixed-size state can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.experiments.cells import Cell, Settings, Table, Tell, measure_all
from regard.experiments.choices import check_compared, check_seeds
from regard.experiments.copying import MODELS, NUM_SYMBOLS, measure_copying
from regard.experiments.known_alignment import TASKS
from regard.experiments.tables import around, grouped, mean, with_interval, write

LENGTHS = range(5, 201)
WELL_SHOWN = 20
"""Alignments up to this length are drawn, where there are any."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Sizes and budget, the same for every model. Updates are counted, not minutes, so that the
    numbers do not depend on the speed of the machine.
    """

    embed_dim: int = 64
    hidden_dim: int = 128
    num_pairs: int = 40_000
    epochs: int = 4
    batch_size: int = 64
    learning_rate: float = 4e-3
    num_test: int = 500
    num_aligned: int = 100


FULL = Budget()
QUICK = Budget(
    embed_dim=32, hidden_dim=64, num_pairs=10_000, epochs=3, num_test=200, num_aligned=50
)


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """What to compare.

    Args:
        task: ``copy``, ``reverse`` or ``sort``.
        lengths: trained and tested, each for itself; with ``train_up_to`` only tested.
        train_up_to: train one model on all lengths from 1 to here; None for one for each length.
        seeds: trainings of each model, with the seeds 1, 2, ...
        budget: sizes and budget.

    Raises:
        ValueError: an unknown task, a length out of its range or twice, or no seed.
    """

    task: str = "copy"
    lengths: Sequence[int] = (5, 10, 20, 40, 80)
    train_up_to: int | None = None
    seeds: int = 3
    budget: Budget = FULL

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task={self.task!r} is unknown. Choose one of: {', '.join(TASKS)}.")
        check_compared("lengths", self.lengths, LENGTHS)
        check_seeds(self.seeds)

    @property
    def stem(self) -> str:
        """Of the files' names."""
        task = "" if self.task == "copy" else f"-{self.task}"
        return f"bottleneck{task}{'' if self.train_up_to is None else '-mixed'}"

    def pictures(self, to: Path) -> tuple[Path, Path, Path]:
        """Where they are: of tokens right, of sequences right, of alignments."""
        tokens, sequences, alignment = (
            to / f"{self.stem}-{of}.png" for of in ("tokens", "sequences", "alignment")
        )
        return tokens, sequences, alignment

    def cells(self) -> dict[str, Settings]:
        """Settings of each training, by its name; short sequences first, which take less time."""
        trained: list[tuple[str, int, int, list[int]]] = [
            (f"length-{length}", length, length, [length]) for length in sorted(self.lengths)
        ]
        if self.train_up_to is not None:
            trained = [("mixed", 1, self.train_up_to, sorted(self.lengths))]
        return {
            f"{self.task}-{lengths}-{model}-seed-{seed}": {
                "task": self.task,
                "model": model,
                "shortest": shortest,
                "longest": longest,
                "test_lengths": test_lengths,
                "seed": seed,
                **asdict(self.budget),
            }
            for seed in range(1, self.seeds + 1)
            for lengths, shortest, longest, test_lengths in trained
            for model in MODELS
        }


def bottleneck(experiment: Bottleneck, *, to: Path, tell: Tell = lambda share, what: None) -> Table:
    """Train a recurrent encoder-decoder without attention, with Bahdanau's and with Luong's.

    Without attention all that the decoder knows of the source is one state of fixed size
    (Cho et al. 2014, arXiv:1409.1259, section 4, and Bahdanau et al. 2015, arXiv:1409.0473,
    figure 2, see it in translation). Finished trainings are kept in ``to/cells``, and the same call
    goes on from there. At the end ``to`` holds the table as ``.csv`` and ``.json``, and pictures:
    tokens and sequences right by length, and an alignment of each model that has one.

    Args:
        experiment: what to compare.
        to: folder to write.
        tell: told how far it is.

    Raises:
        CellError: ``to/cells`` holds another experiment's cells.
        KeyboardInterrupt: stopped; what is finished is kept.

    >>> experiment = Bottleneck(lengths=[5, 10], seeds=1, budget=QUICK)
    >>> list(experiment.cells())[:2]
    ['copy-length-5-none-seed-1', 'copy-length-5-bahdanau-seed-1']
    """
    cells = measure_all(experiment.cells(), measure_copying, folder=to / "cells", tell=tell)
    settings = asdict(experiment) | {"lengths": list(experiment.lengths)}
    table = Table("bottleneck", settings, _rows(cells))
    write(table, to, experiment.stem)
    _draw(table, cells, to, experiment)
    return table


def _rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    tested = [(cell, part) for cell in cells for part in cell.measured["by_length"]]
    by_row = grouped(tested, lambda item: (item[1]["length"], item[0].settings["model"]))
    order = list(MODELS)
    rows = sorted(by_row.items(), key=lambda item: (item[0][0], order.index(item[0][1])))
    return [_row(length, model, of_row) for (length, model), of_row in rows]


def _row(length: int, model: str, tested: Sequence[tuple[Cell, dict[str, Any]]]) -> dict[str, Any]:
    cells, parts = zip(*tested, strict=True)

    def shares(counts: Sequence[Sequence[int]]) -> list[list[float]]:
        return [[count / length for count in of_seed] for of_seed in counts]

    row = {
        "length": length,
        "model": model,
        **with_interval("tokens_right", shares([part["tokens_right"] for part in parts])),
        **with_interval("sequences_right", [part["sequences_right"] for part in parts]),
        "chance": 1 / NUM_SYMBOLS,
        "likeliest_symbols": parts[0]["guess"],
        "steps_right": None,
        "steps_right_low": None,
        "steps_right_high": None,
        "alignment_error_rate": None,
        "seeds": len(parts),
        "test_pairs": len(parts[0]["sequences_right"]),
        "parameters": cells[0].measured["parameters"],
        "updates": cells[0].measured["updates"],
        "seconds": mean(cell.measured["seconds"] for cell in cells),
    }
    aligned = [part["alignment"] for part in parts]
    if aligned[0] is not None:
        row |= with_interval("steps_right", shares([a["steps_right"] for a in aligned]))
        row["alignment_error_rate"] = mean(a["alignment_error_rate"] for a in aligned)
    return row


def _draw(table: Table, cells: Sequence[Cell], to: Path, experiment: Bottleneck) -> None:
    from regard import plots

    tokens, sequences, alignment = experiment.pictures(to)
    by_model = grouped(table.rows, lambda row: str(row["model"]))
    chance = None if experiment.task == "sort" else 1 / NUM_SYMBOLS
    for path, measure, line in ((tokens, "tokens", chance), (sequences, "sequences", None)):
        figure = plots.accuracy_by_length(
            {
                "no attention" if model == "none" else model.capitalize(): [
                    (row["length"], *around(row, f"{measure}_right")) for row in rows
                ]
                for model, rows in by_model.items()
            },
            chance=line,
            title=f"{experiment.task}: {measure} right",
        )
        plots.save(figure, path)
    examples = _examples(cells)
    panels = [(e["weights"], e["source"].split(), e["target"].split()) for e in examples.values()]
    titles = [model.capitalize() for model in examples]
    plots.save(plots.alignments(panels, titles=titles), alignment)


def _examples(cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """Of each model with attention one alignment, of the first seed and the length that suits."""
    chosen: dict[str, dict[str, Any]] = {}
    for cell in cells:
        for part in cell.measured["by_length"]:
            model = cell.settings["model"]
            suits = part["length"] <= WELL_SHOWN or model not in chosen
            if cell.settings["seed"] == 1 and part["alignment"] is not None and suits:
                chosen[model] = part["alignment"]["example"]
    return chosen
