"""Contestants in turn, so that the machine's moods fall on all alike."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Call = Callable[[], object]
Name = TypeVar("Name")
SAMPLE = 0.03  # seconds that one contestant runs in a round, or once if a call takes longer
LONG = 2.0  # seconds; a call that takes longer is not repeated


def rounds_of(theirs: Call, ours: Call, rounds: int) -> list[tuple[float, float]]:
    """Seconds of one call of each, round by round."""
    calls = max(1, int(SAMPLE / min(seconds(theirs, 1), seconds(theirs, 1))))
    return [(seconds(theirs, calls), seconds(ours, calls)) for _ in range(rounds)]


def in_turn(
    calls: Mapping[Name, Call], rounds: int, look: Callable[[dict[Name, Any]], None]
) -> dict[Name, list[float]]:
    """Seconds of one call of each, round by round, however much their speeds differ.

    ``look`` is given what each returned, before the rounds. A call of more than ``LONG`` seconds is
    made only this once, and stands for all rounds.
    """
    found, once = {}, {}
    for name, call in calls.items():
        start = time.perf_counter()
        found[name] = call()
        once[name] = time.perf_counter() - start
    look(found)
    found.clear()
    took: dict[Name, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times = max(1, int(SAMPLE / once[name]))
            took[name].append(once[name] if once[name] > LONG else seconds(call, times))
    return took


def seconds(call: Call, times: int) -> float:
    """Mean seconds of one call."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times
