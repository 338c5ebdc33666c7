"""One point of the additive score's scaling: forward and backward of one contestant, alone.

    python -m benchmarks.peers.additive_point CONTESTANT LENGTH LIMIT_GIB THREADS

prints, as JSON, seconds and the bytes of memory that one call adds at its peak, or that the limit
was too low. Linux only: it reads /proc.
"""

import ctypes
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path

os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # before torch is imported: no pool that grows

import torch

from benchmarks.peers.textbook_additive import Tensors
from benchmarks.rounds import Call

DIM, ENOUGH = 64, 1.0  # seconds of calls of which the fastest counts


def contestant(name: str, tensors: Tensors) -> Call:
    """Its call, from queries and keys as they come, with the projections."""
    if name == "Keras":
        from benchmarks.peers.keras_additive import keras_attention

        return keras_attention(tensors, step=True, lengths=False)
    from benchmarks import additive_contestants as contestants

    if name == "textbook":
        return contestants.by_hand_with_projections(tensors, step=True, lengths=False)
    if name == "textbook, compiled":
        return contestants.compiled(tensors, step=True, lengths=False)
    return contestants.ours_public(tensors, step=True, lengths=False)


def measure(name: str, length: int, limit: int) -> dict[str, float | str]:
    """Both numbers, or why there are none."""
    contestant(name, Tensors.draw((1, 16, 16, DIM)))()  # imports, numba
    tensors = Tensors.draw((1, length, length, DIM))
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + limit,) * 2)
    try:
        call = contestant(name, tensors)
        call()  # whatever is made once
        extra, seconds = _memory(call)
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        said = [line.strip() for line in str(error).splitlines() if "memory" in line]
        return {"out_of_memory": said[0] if said else "MemoryError"}
    start = time.perf_counter()
    while time.perf_counter() - start < ENOUGH:
        before = time.perf_counter()
        call()
        seconds = min(seconds, time.perf_counter() - before)
    return {"seconds": seconds, "extra": extra}


def _memory(call: Call) -> tuple[int, float]:
    """The highest that resident memory rises during a call, and its seconds."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what earlier calls freed must not hide what this one takes
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again
    before, start = _status("VmRSS"), time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    page = resource.getpagesize()  # at least: logarithms are taken of it
    return max(page, _status("VmHWM") - before), seconds


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[4]))
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(float(sys.argv[3]) * 2**30))))
