"""Which rows of which examples are computed together, and by how many threads at once."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier, main_thread
from typing import NamedTuple

import torch

SCRATCH = 2**18
"""Weights that a thread holds at a time, if nobody asked for them: 1 MiB in float32."""
WORTH_A_THREAD = 2**19
"""(query, key, channel)s; with fewer, threads would wait for each other longer than they work."""


class Region(NamedTuple):
    """Some rows (queries) of some examples (of batch * heads)."""

    examples: tuple[int, int]
    rows: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of examples and of rows."""
        return self.examples[1] - self.examples[0], self.rows[1] - self.rows[0]

    @property
    def place(self) -> tuple[slice, slice]:
        """As an index."""
        return slice(*self.examples), slice(*self.rows)

    def within_scratch(self, key_len: int) -> Iterator["Region"]:
        """The region in such parts that their weights fit: whole examples, or rows of one."""
        num_rows = self.shape[1]
        examples = max(1, SCRATCH // (num_rows * key_len))
        rows = min(num_rows, max(1, SCRATCH // key_len))
        for example in range(*self.examples, examples):
            for row in range(*self.rows, rows):
                yield Region(
                    (example, min(example + examples, self.examples[1])),
                    (row, min(row + rows, self.rows[1])),
                )


def pieces(num_examples: int, num_rows: int, work: int) -> list[list[Region]]:
    """All in pieces for threads to take, of whole examples or, in a list, of some rows of them.

    ``work`` is the number of (query, key, channel)s. The lists are of one length, and the pieces of
    a list are of the same examples: what they add to these must be kept apart.
    """
    threads = min(torch.get_num_threads(), 1 + work // WORTH_A_THREAD)
    wanted = 1 if threads == 1 else 2 * threads  # pieces differ in work, by their masks
    by_example = min(num_examples, wanted)
    by_row = min(num_rows, -(-wanted // by_example))
    return [
        [Region(examples, rows) for rows in _parts(num_rows, by_row)]
        for examples in _parts(num_examples, by_example)
    ]


def _parts(length: int, num: int) -> list[tuple[int, int]]:
    return list(pairwise(length * part // num for part in range(num + 1)))


def at_once(function: Callable[[Region], None], some: list[Region]) -> None:
    """Call it for each, in as many threads as torch would use; in these, torch itself uses one.

    Torch's own threads spin for milliseconds after each of its operations, on the cores that these
    need: so what comes between loops is computed here as well.
    """
    if len(some) == 1 or not main_thread().is_alive():  # then no pool takes anything any more
        for region in some:
            function(region)
        return
    is_inference = torch.is_inference_mode_enabled()

    def run(region: Region) -> None:
        with torch.inference_mode(is_inference):  # which each thread has of its own
            function(region)

    list(_pool(torch.get_num_threads()).map(run, some))


def _pool(num_threads: int) -> ThreadPoolExecutor:
    # a forked child has the parent's pool without its threads
    key = os.getpid(), num_threads
    if key not in _POOLS:
        pool = ThreadPoolExecutor(num_threads, "regard", torch.set_num_threads, (1,))
        all_there = Barrier(num_threads)
        list(pool.map(lambda _: all_there.wait(), range(num_threads)))
        torch.set_num_threads(num_threads)  # torch took theirs as everybody's to come
        _POOLS[key] = pool
    return _POOLS[key]


_POOLS: dict[tuple[int, int], ThreadPoolExecutor] = {}
