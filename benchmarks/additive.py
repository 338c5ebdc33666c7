"""The additive score beside the textbook's formula, the same compiled, Keras and SDPA.

    python -m benchmarks.additive --keras-python /tmp/peers-venv/bin/python

For each size and direction (forward; step = forward and backward) all are first checked to give the
same, then every round runs everyone, one after the other, so that the machine's moods fall on all
alike. Ratios are taken round by round; printed are their median, least and largest. A call of more
than 2 seconds is made once and stands for all rounds.

given    projected: queries and keys are projected before the clock starts. raw: the projections are
         timed too (Keras's layer has none, so torch's stand before it; from 2^27 elements on they
         cost nothing beside the formula, and ours is compared with the textbook on projected ones).
         prepared: a step of a decoder, its keys projected before, its query in the call.
lengths  full, or drawn uniformly from 1 to the number of keys: then our time as a share of that at
         full lengths stands beside the share of the (query, key) pairs that are visible.
Keras    runs in a process of its own beside the textbook there; its ratio to ours is by way of both
         textbooks.
SDPA     is another formula, the dot product: for scale.
elements are visible (batch, query, key, channel)s; peak/5 says that one takes the time in which
         torch's matrix product makes 5 multiply-adds.
"""

import argparse
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
import torch

from benchmarks import additive_contestants as contestants
from benchmarks.additive_contestants import COMPILED, OURS, SDPA, TEXTBOOK, Name
from benchmarks.additive_keras import KERAS, README, Beside, ask
from benchmarks.additive_table import HEAD, Took, print_rows
from benchmarks.peers.textbook_additive import Size, Tensors, check, largest_bytes, textbook
from benchmarks.rounds import Call, in_turn, seconds

DECODER: Size = (64, 1, 12, 256)
SIZES: tuple[Size, ...] = (
    DECODER,
    (32, 30, 30, 256),
    (16, 64, 64, 256),
    (8, 256, 256, 128),
    (2, 1024, 1024, 128),
    (1, 4096, 4096, 64),
)
LARGE = 2**27  # elements; from here the projections are nothing beside the formula


def compare(
    rounds: int,
    threads: Iterable[int] | None = None,
    sizes: Iterable[Size] = SIZES,
    keras_python: Path | None = KERAS,
) -> None:
    """Print the table."""
    before = torch.get_num_threads()
    refused = contestants.compiler_refuses()
    if refused:
        print(f"{COMPILED}: left out ({refused})")
    if keras_python is None or not keras_python.exists():
        print(f"Keras: left out (no {keras_python}; {README} makes it)")
        keras_python = None
    for num_threads in (before,) if threads is None else threads:
        torch.set_num_threads(num_threads)
        peak = _multiply_adds()
        print(
            f"\nAdditive attention, float32, {num_threads} threads, {rounds} rounds; torch's matrix"
            f" product makes {peak / 1e9:.0f} G multiply-adds/s\n{HEAD}"
        )
        for size in sizes:
            asked = _keras(keras_python, size, rounds, num_threads)
            for step in (False, True):
                took = _run(size, step, rounds, refused is None)
                print_rows(size, step, took, asked, peak)
    torch.set_num_threads(before)


def _run(size: Size, step: bool, rounds: int, compiles: bool) -> Took:
    tensors = Tensors.draw(size)
    fits = _fits(TEXTBOOK, size, step, num_tensors=3 if step else 2)
    calls: dict[Name, Call] = {}
    for lengths in (False, True):
        asked = tensors, step, lengths
        if fits:
            calls[Name(TEXTBOOK, "projected", lengths)] = contestants.by_hand(*asked, textbook)
        if compiles:
            calls[Name(COMPILED, "projected", lengths)] = contestants.compiled(*asked)
        calls[Name(SDPA, "projected", lengths)] = contestants.sdpa(*asked)
        calls[Name(OURS, "projected", lengths)] = contestants.ours(*asked)
        if fits and math.prod(size) < LARGE:
            with_projections = contestants.by_hand_with_projections(*asked)
            calls[Name(TEXTBOOK, "raw", lengths)] = with_projections
        calls[Name(OURS, "raw", lengths)] = contestants.ours_public(*asked)
        if size == DECODER:
            calls[Name(TEXTBOOK, "prepared", lengths)] = contestants.textbook_decoder(*asked)
            calls[Name(OURS, "prepared", lengths)] = contestants.ours_decoder(*asked)
    took = in_turn(calls, rounds, lambda found: _check(tensors, found))
    torch.compiler.reset()  # it keeps only so many compiled forms of a function
    return took


def _check(tensors: Tensors, found: dict[Name, Any]) -> None:
    """All like the textbook, or where that did not run, like each other."""
    for name, answer in found.items():
        projected = name._replace(given="projected")
        same = [name._replace(who=TEXTBOOK), name._replace(who=COMPILED)]
        context_alone = [projected._replace(who=TEXTBOOK), projected._replace(who=OURS)]
        if name.who == SDPA:
            check(answer[:1], [contestants.sdpa_by_hand(tensors, name.lengths)])
        elif known := [other for other in same if other in found]:
            check(answer, found[known[0]])
        else:
            check(answer[:1], next(found[other] for other in context_alone if other in found)[:1])


def _keras(
    python: Path | None, size: Size, rounds: int, threads: int
) -> dict[tuple[bool, bool], Beside]:
    if python is None or not _fits("Keras", size, step=True, num_tensors=5):
        return {}
    answer = ask(python, size, rounds, threads)
    if isinstance(answer, str):
        print(f"  {size}: Keras failed: {answer}", flush=True)
        return {}
    return answer


def _fits(who: str, size: Size, step: bool, num_tensors: int) -> bool:
    """Whether so many tensors of all elements find room; if not, that is said."""
    needed, free = num_tensors * largest_bytes(size), psutil.virtual_memory().available
    if fits := needed < 0.9 * free:
        return fits
    print(
        f"  {size} {'step' if step else 'forward'}: {who} left out, for it needs"
        f" {needed / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free",
        flush=True,
    )
    return fits


def _multiply_adds(size: int = 2048) -> float:
    """Multiply-adds per second of a large matrix product, the best of five."""
    one = torch.randn(size, size)
    return size**3 / min(seconds(lambda: one @ one, 1) for _ in range(5))


def _size(text: str) -> Size:
    size = tuple(int(number) for number in text.split(","))
    if len(size) != 4 or min(size) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not batch,query,key,dim")
    return size


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.additive",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", help="default: torch's own number")
    parser.add_argument(
        "--shapes", type=_size, nargs="+", default=SIZES, help="as batch,query,key,dim"
    )
    parser.add_argument("--quick", action="store_true", help="3 rounds, the three small sizes")
    parser.add_argument(
        "--keras-python", type=Path, default=KERAS, help=f"python with Keras and torch ({README})"
    )
    given = parser.parse_args()
    rounds, sizes = (3, SIZES[:3]) if given.quick else (given.rounds, given.shapes)
    compare(rounds, given.threads, sizes, given.keras_python)


if __name__ == "__main__":
    main()
