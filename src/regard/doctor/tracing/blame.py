"""Which operation broke a rule, found by comparing the operations of two calls."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.doctor.tracing.flow import Flow
from regard.doctor.tracing.trace import Event, Trace

Wrong = Callable[[NDArray[Any], NDArray[Any]], bool]


def blame(before: Trace, after: Trace, wrong: Wrong) -> Event | None:
    """The first operation on the way to the last wrong result: wrong itself, from right input.

    `wrong(one, other)` says of one array in both calls whether the rule is broken there.
    """
    if [e.op for e in before.events] != [e.op for e in after.events]:
        return None
    given = [
        [wrong(a.value, b.value) for a, b in zip(one.inputs, other.inputs, strict=False)]
        for one, other in zip(before.events, after.events, strict=True)
    ]
    made = [
        any(wrong(a.value, b.value) for a, b in zip(one.outputs, other.outputs, strict=False))
        for one, other in zip(before.events, after.events, strict=True)
    ]
    at = next((i for i in reversed(range(len(made))) if made[i]), None)
    flow = Flow(before)
    while at is not None:
        operands = zip(before.events[at].inputs, given[at], strict=False)
        makers = (flow.maker(operand, at) for operand, bad in operands if bad)
        earlier = next((i for i in makers if i is not None and made[i]), None)
        if earlier is None:
            return before.events[at] if before.events[at].place is not None else None
        at = earlier
    return None


def feels_others(batch: int, changed: int) -> Wrong:
    """Whether other examples than the changed one are another in the second call."""

    def wrong(one: NDArray[Any], other: NDArray[Any]) -> bool:
        if one.shape != other.shape:
            return True
        if batch not in one.shape:
            return _differs(one, other)
        axis = one.shape.index(batch)
        return _differs(np.delete(one, changed, axis), np.delete(other, changed, axis))

    return wrong


def not_permuted(size: int, order: NDArray[Any]) -> Wrong:
    """Whether axes of this size are not in the new order in the second call."""

    def wrong(one: NDArray[Any], other: NDArray[Any]) -> bool:
        if one.shape != other.shape:
            return True
        for axis, length in enumerate(one.shape):
            if length == size:
                one = np.take(one, order, axis)
        return _differs(one, other)

    return wrong


def _differs(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.dtype.kind not in "fc":
        return not np.array_equal(one, other)
    return not np.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True)


def first_infinite(trace: Trace) -> Event | None:
    """The first operation that gives infinity from finite numbers."""
    for event in trace.events:
        if event.place is None or event.settings.get("fill") is not None:
            continue
        finite = all(np.isfinite(o.value).all() for o in event.inputs if o.value.dtype.kind == "f")
        made = any(np.isinf(o.value).any() for o in event.outputs if o.value.dtype.kind == "f")
        if finite and made:
            return event
    return None


def first_nan(trace: Trace) -> Event | None:
    """The first operation that gives NaN from numbers that hold none."""
    for event in trace.events:
        if event.place is None or not any(_holds_nan(o.value) for o in event.outputs):
            continue
        if not any(_holds_nan(o.value) for o in event.inputs):
            return event
    return None


def _holds_nan(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).any())
