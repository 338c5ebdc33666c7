"""What recordings in several threads do to the same thing: done once, undone after the last."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import TypeAlias

Undo: TypeAlias = Callable[[], None]


@dataclass
class _Held:
    undo: Undo
    holders: int = 0


_held: dict[Hashable, _Held] = {}
_lock = RLock()


@contextmanager
def held(what: Hashable, do: Callable[[], Undo]) -> Iterator[None]:
    """Keep something done for as long as anybody, in whichever thread, is in such a block.

    ``do`` does it and gives back what undoes it; ``what`` says which blocks mean the same.
    """
    with _lock:
        if what not in _held:
            _held[what] = _Held(do())
        _held[what].holders += 1
    try:
        yield
    finally:
        with _lock:
            _held[what].holders -= 1
            if not _held[what].holders:
                _held.pop(what).undo()
