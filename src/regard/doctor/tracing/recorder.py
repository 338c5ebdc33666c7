"""What both recorders share: identities, origins, places, the list of events."""

import linecache
import sys
from dataclasses import dataclass, field
from typing import Any

from regard.doctor.findings import Place
from regard.doctor.tracing.trace import Event, Operand, Trace

_FRAMES = 60


@dataclass(frozen=True)
class Recorded:
    """What the traced call gave: `result`, or the `error` that it raised; and the trace."""

    result: Any
    error: Exception | None
    trace: Trace


@dataclass
class Ledger:
    """The events so far. Arrays stay referenced while recording, so that an id is never reused."""

    file: str
    events: list[Event] = field(default_factory=list)
    own: dict[int, frozenset[str]] = field(default_factory=dict)  # by id of the array
    written: dict[int, frozenset[str]] = field(default_factory=dict)  # by memory, through a view
    _numbers: dict[int, int] = field(default_factory=dict)
    _alive: list[Any] = field(default_factory=list)

    def identity(self, array: Any) -> int:
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self._numbers)
            self._alive.append(array)
        return self._numbers[id(array)]

    def knows(self, array: Any) -> bool:
        return id(array) in self._numbers

    def is_also(self, array: Any, other: Any) -> None:
        """`array` is another object for what `other` is."""
        self._numbers[id(array)] = self._numbers[id(other)]
        self.own[id(array)] = self.own.get(id(other), frozenset())
        self._alive.append(array)

    def origins(self, array: Any, memory: int) -> frozenset[str]:
        return self.own.get(id(array), frozenset()) | self.written.get(memory, frozenset())

    def write(self, memory: int, origins: frozenset[str]) -> None:
        """Every array on this memory now depends on `origins` too."""
        self.written[memory] = self.written.get(memory, frozenset()) | origins

    def add(
        self,
        op: str,
        inputs: list[Operand],
        outputs: list[Operand],
        settings: dict[str, Any],
    ) -> None:
        places = () if op == "input" else self.places()
        if len(places) > 1:
            settings = {**settings, "called_from": places[1:]}
        place = places[0] if places else None
        self.events.append(Event(op, tuple(inputs), tuple(outputs), settings, place))

    def places(self) -> tuple[Place, ...]:
        """The lines of the user's file that are running, the innermost first."""
        frame, places = sys._getframe(1), []
        for _ in range(_FRAMES):
            if frame.f_code.co_filename == self.file:
                line = frame.f_lineno
                code = linecache.getline(self.file, line).strip()
                places.append(Place(self.file, line, code))
            if frame.f_back is None:
                break
            frame = frame.f_back
        return tuple(places)

    def trace(self, returned: list[Any]) -> Trace:
        return Trace(tuple(self.events), frozenset(self.identity(array) for array in returned))


def flatten(thing: Any, kind: type) -> list[Any]:
    """The arrays of one kind inside tuples, lists, dicts and slices, in order."""
    if isinstance(thing, kind):
        return [thing]
    if isinstance(thing, slice):
        return flatten((thing.start, thing.stop, thing.step), kind)
    if isinstance(thing, dict):
        thing = tuple(thing.values())
    if isinstance(thing, (tuple, list)):
        return [found for part in thing for found in flatten(part, kind)]
    return []


def union(operands: list[Operand]) -> frozenset[str]:
    """The origins of any of them."""
    return frozenset().union(*(operand.origins for operand in operands))
