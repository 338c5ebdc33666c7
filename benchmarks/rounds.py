"""Two contestants in turn, so that the machine's moods fall on both alike."""

import time
from collections.abc import Callable

Call = Callable[[], object]
SAMPLE = 0.03  # seconds that one contestant runs in a round, or once if a call takes longer


def rounds_of(theirs: Call, ours: Call, rounds: int) -> list[tuple[float, float]]:
    """Seconds of one call of each, round by round."""
    calls = max(1, int(SAMPLE / min(seconds(theirs, 1), seconds(theirs, 1))))
    return [(seconds(theirs, calls), seconds(ours, calls)) for _ in range(rounds)]


def seconds(call: Call, times: int) -> float:
    """Mean seconds of one call."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times
