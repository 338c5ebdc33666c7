"""Several cores at once, one torch thread each.

An encoder-decoder's operations are small. Splitting each over the cores makes them wait for each
other thousands of times a second, and any other program on the machine stretches every one of those
waits (seen: 2 threads on a busy machine, 8 times slower than 1). Splitting the batch instead, each
worker meets the others once a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """``num`` Python threads; while entered, torch uses one thread for each operation.

    ``num=None`` takes as many as torch has threads. With ``num=1``, and while not entered, all runs
    in the calling thread.

    >>> with Workers(2) as workers:
    ...     workers.map(lambda x: x * x, [1, 2, 3])
    [1, 4, 9]
    """

    def __init__(self, num: int | None = None) -> None:
        self.num = torch.get_num_threads() if num is None else num
        if self.num < 1:
            raise ValueError(f"Workers: num={num}. Give at least 1, or None for torch's threads.")
        self._pool: ThreadPoolExecutor | None = None
        self._threads_before = 0

    def __enter__(self) -> Workers:
        self._threads_before = torch.get_num_threads()
        torch.set_num_threads(1)
        if self.num > 1:
            # OpenMP's setting belongs to each thread, so every new one says it too
            self._pool = ThreadPoolExecutor(self.num, initializer=lambda: torch.set_num_threads(1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        torch.set_num_threads(self._threads_before)

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The function of each item, in order."""
        if self._pool is None:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))
