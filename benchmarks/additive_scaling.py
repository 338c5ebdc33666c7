"""Time and peak memory of the additive score against sequence length, as numbers and a picture.

    python -m benchmarks.additive_scaling --png docs/images/additive.png

Each point is a process of its own: batch 1, width 64, forward and backward with the projections,
the fastest of a second's calls; memory is what resident memory rises by during one call. A process
may take LIMIT more address space than it had before (RLIMIT_AS); who needs more ends there, and is
not asked for longer sequences.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.additive_keras import KERAS, README

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
CONTESTANTS = ("textbook", "Keras", "textbook, compiled", "regard")
COLOURS = {
    "textbook": "#d55e00",
    "Keras": "#cc79a7",
    "textbook, compiled": "#e69f00",
    "regard": "#0072b2",
}
MARKS = {"textbook": "o", "Keras": "^", "textbook, compiled": "s", "regard": "D"}

Points = dict[str, list[tuple[int, float, float]]]  # length, seconds, bytes


def measure(
    lengths: list[int], limit: float, threads: int, keras_python: Path
) -> tuple[Points, dict[str, int]]:
    """Points of each contestant, and the length at which it ran out of memory."""
    points: Points = {}
    ended: dict[str, int] = {}
    for name in CONTESTANTS:
        python = keras_python if name == "Keras" else Path(sys.executable)
        if not python.exists():
            print(f"{name}: left out (no {python}; {README} makes it)")
            continue
        points[name] = []
        for length in lengths:
            found = _point(python, name, length, limit, threads)
            if "seconds" not in found:
                why = found.get("out_of_memory") or found["failed"]
                print(f"  {name:18} {length:6}  ended: {why}", flush=True)
                if "out_of_memory" in found:
                    ended[name] = length
                break
            points[name].append((length, found["seconds"], found["extra"]))
            print(
                f"  {name:18} {length:6}  {1e3 * found['seconds']:10.2f} ms"
                f"  {found['extra'] / 2**20:9.1f} MiB",
                flush=True,
            )
    return points, ended


def _point(python: Path, name: str, length: int, limit: float, threads: int) -> dict[str, Any]:
    command = [python, "-m", "benchmarks.peers.additive_point", name, str(length), str(limit)]
    answer = subprocess.run(
        [*command, str(threads)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode == 0:
        return json.loads(answer.stdout.splitlines()[-1])
    last = answer.stderr.strip().splitlines()[-1:] or [""]
    return {"failed": f"exit code {answer.returncode} {last[0]}"}


def draw(
    points: Points, ended: dict[str, int], limit: float, threads: int, path: Path, dpi: int = 150
) -> None:
    """The picture: time on the left, memory on the right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for panel, column, unit in zip(panels, (1, 2), (1.0, 2**20), strict=True):
        for name, found in points.items():
            if not found:
                continue
            xs, ys = [p[0] for p in found], [p[column] / unit for p in found]
            style = {"color": COLOURS[name], "marker": MARKS[name], "markersize": 5}
            panel.plot(xs, ys, label=name, linewidth=2, **style)
            if name in ended:
                _end(panel, xs[-1], ys[-1], COLOURS[name], ended[name])
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        lengths = sorted({p[0] for found in points.values() for p in found} | set(ended.values()))
        panel.set_xticks(lengths, [str(length) for length in lengths])
        panel.set_xlabel("sequence length (queries = keys)")
        panel.grid(True, which="major", alpha=0.3)
    panels[0].set_ylabel("seconds, forward + backward")
    panels[0].set_title("Time")
    panels[1].set_ylabel("MiB above the inputs, at the peak")
    panels[1].set_title("Peak memory")
    panels[1].axhline(limit * 1024, color="grey", linestyle=":", linewidth=1.5)
    panels[1].annotate(
        f"limit: {limit:g} GiB", (0.02, limit * 1024), xycoords=("axes fraction", "data"),
        va="bottom", color="grey",
    )  # fmt: skip
    panels[0].legend(frameon=False)
    figure.suptitle(
        f"Additive (Bahdanau) attention: batch 1, width 64, float32, {threads} CPU threads\n"
        f"× : out of memory at this length (limit {limit:g} GiB); dotted: extrapolated",
        fontsize=11,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)


def _end(panel: Any, x: float, y: float, colour: str, length: int) -> None:
    """The line breaks off: a dotted step to where it would have gone, quadratically."""
    there = y * (length / x) ** 2
    panel.plot([x, length], [y, there], color=colour, linestyle=":", linewidth=1.5)
    panel.plot([length], [there], color=colour, marker="x", markersize=10, markeredgewidth=2.5)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.additive_scaling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--png", type=Path, help="draw here")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--limit", type=float, default=8.0, help="GiB")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--keras-python", type=Path, default=KERAS)
    given = parser.parse_args()
    points, ended = measure(given.lengths, given.limit, given.threads, given.keras_python)
    if given.png:
        draw(points, ended, given.limit, given.threads, given.png)


if __name__ == "__main__":
    main()
