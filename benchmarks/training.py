"""Training pairs per second beside JoeyNMT: equal sizes, the same data, rounds in turn.

Ours is the real loop of ``regard train``, JoeyNMT's is its own (``peers/joeynmt_training.py``, run
with the python of the environment that ``peers/README.md`` makes). Each round runs every
contestant once, so that the machine's moods fall on all alike; ratios are taken round by round.
"""

import json
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

from regard.models import Side, Translator
from regard.text import Pair
from regard.training import TrainingOptions, train

WIDTH, BATCH, WARMUP, UPDATES = 192, 256, 10, 60
EQUAL = {
    "embed_dim": WIDTH,
    "hidden_dim": WIDTH,
    "encoder_dim": WIDTH,
    "window": 1,
    "dropout": 0.1,
    "source_summary": False,
}
OURS = {
    "bahdanau, gru": EQUAL
    | {"decoder": "bahdanau", "attention": "additive", "attn_dim": WIDTH, "cell": "gru"},
    "luong, gru": EQUAL | {"decoder": "luong", "attention": "general", "cell": "gru"},
    "luong, lstm": EQUAL | {"decoder": "luong", "attention": "general", "cell": "lstm"},
    "luong, gru, default sizes": {"decoder": "luong", "attention": "general", "cell": "gru"},
}


class _Enough(Exception):
    """The round is over."""


def ours(pairs: list[Pair], choices: dict[str, object]) -> float:
    """Pairs per second of ``regard train`` in its steady state."""
    translator = Translator.fresh(
        Side.build("characters", (pair.source for pair in pairs)),
        Side.build("whitespace", (pair.target for pair in pairs)),
        **choices,
    )
    seen: list[tuple[float, float]] = []

    def report(progress):
        seen.append((time.perf_counter(), progress.epoch))
        if len(seen) == WARMUP + UPDATES:
            raise _Enough

    options = TrainingOptions(epochs=10, batch_size=BATCH, evaluate_every=10**6)
    with tempfile.TemporaryDirectory() as folder, suppress(_Enough):
        train(translator, pairs, pairs[:10], to=Path(folder), options=options, report=report)
    (start, first), (end, last) = seen[WARMUP - 1], seen[-1]
    return (last - first) * len(pairs) / (end - start)


def joeynmt(python: Path, data: Path, order: str) -> float:
    """Pairs per second of JoeyNMT's own loop; ``bucketed`` by length is its best order."""
    script = Path(__file__).parent / "peers" / "joeynmt_training.py"
    command = [
        str(python), str(script), str(data), "--json", "--order", order, "--rounds", "1",
        "--updates", str(UPDATES), "--warmup", str(WARMUP), "--batch-size", str(BATCH),
        "--embed-dim", str(WIDTH), "--hidden-dim", str(WIDTH),
    ]  # fmt: skip
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return median(json.loads(answer.stdout)["pairs_per_second_rounds"])


def compare(pairs: list[Pair], data: Path, peer: Path | None, rounds: int) -> None:
    """Print a table."""
    speeds: dict[str, list[float]] = {}
    for _ in range(rounds):
        if peer is not None:
            for order in ("bucketed", "shuffled"):
                name = f"JoeyNMT, gru + bahdanau, {order}"
                speeds.setdefault(name, []).append(joeynmt(peer, data, order))
        for name, choices in OURS.items():
            speeds.setdefault(name, []).append(ours(pairs, choices))
    base = next(iter(speeds.values()))
    first = next(iter(speeds))
    print(f"\nTraining, batch {BATCH}, widths {WIDTH}, {rounds} rounds; ratio to {first}")
    for name, values in speeds.items():
        ratios = [value / other for value, other in zip(values, base, strict=True)]
        print(
            f"  {name:36} {median(values):8,.0f} pairs/s ({min(values):,.0f} to {max(values):,.0f})"
            f"   x {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
