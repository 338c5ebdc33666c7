"""Keras asked with the python of its own environment: see ``peers/keras_additive.py``."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.textbook_additive import Size, Tensors

KERAS = Path("/tmp/peers-venv/bin/python")
README = "benchmarks/peers/README.md"


class Beside(NamedTuple):
    """Seconds, round by round, in one process."""

    textbook: list[float]
    keras: list[float]


def ask(
    python: Path, size: Size, rounds: int, threads: int
) -> dict[tuple[bool, bool], Beside] | str:
    """By step and lengths, or why it failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tensors.npz"
        Tensors.draw(size).save(path)
        answer = subprocess.run(
            [python, "-m", "benchmarks.peers.keras_additive", path, str(rounds), str(threads)],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=False,
        )
    if answer.returncode:
        return (answer.stderr.strip() or f"exit code {answer.returncode}").splitlines()[-1]
    found = json.loads(answer.stdout.splitlines()[-1])
    return {(step, lengths): Beside(*took) for step, lengths, *took in found}
