"""How long the first calls take: numba compiles, then finds its compiled code on disk.

    python -m benchmarks.additive_first_call

Each column is a fresh process; the cold one has an empty NUMBA_CACHE_DIR, the warm ones the same
folder afterwards.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

SIZE = (16, 64, 64, 256)


def measure() -> dict[str, float]:
    """Seconds of each step, in this process."""
    took = {}
    start = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal start
        took[name] = time.perf_counter() - start
        start = time.perf_counter()

    import torch

    lap("import torch")
    from benchmarks.additive_contestants import ours_public
    from benchmarks.peers.textbook_additive import Tensors

    lap("import regard")
    tensors = Tensors.draw(SIZE)
    start = time.perf_counter()
    forward = ours_public(tensors, step=False, lengths=False)  # calls once
    lap("first forward")
    step = ours_public(tensors, step=True, lengths=False)
    lap("first forward and backward")
    with torch.no_grad():
        forward()
    lap("second forward")
    step()
    lap("second forward and backward")
    return took


def compare(warm: int) -> None:
    """Print a table, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        columns = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-m", __spec__.name, "--here"],
                    env=os.environ | {"NUMBA_CACHE_DIR": folder},
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            for _ in range(1 + warm)
        ]
    print(f"\nFirst calls of attend with the additive score at {SIZE}, float32, in seconds")
    print(f"  {'':28}" + "".join(f"{name:>9}" for name in ["cold"] + ["warm"] * warm))
    for name in columns[0]:
        print(f"  {name:28}" + "".join(f"{column[name]:9.3f}" for column in columns))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.additive_first_call")
    parser.add_argument("--warm", type=int, default=2, help="processes with a warm cache")
    parser.add_argument("--here", action="store_true", help="measure this process, print JSON")
    given = parser.parse_args()
    if given.here:
        print(json.dumps(measure()))
    else:
        compare(given.warm)
