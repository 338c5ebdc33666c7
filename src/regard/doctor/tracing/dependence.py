"""Which arrays depend on which, over a trace."""

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from regard.doctor.tracing.trace import Event, Operand, Trace

Array = NDArray[Any]  # of any float type, as traced

PRODUCTS = frozenset(
    "linear matmul bmm tensordot einsum addmm baddbmm vdot bilinear".split()  # noqa: SIM905
)


def downstream(trace: Trace, identities: Iterable[int], start: int = 0) -> set[int]:
    """Identities of every array that depends on one of these, from event `start` on."""
    reached = set(identities)
    for event in trace.events[start:]:
        if any(operand.identity in reached for operand in event.inputs):
            reached.update(operand.identity for operand in event.outputs)
    return reached


def upstream(trace: Trace, identities: Iterable[int], end: int) -> set[int]:
    """Identities of every array that these depend on, over the events before `end`."""
    reached = set(identities)
    for event in reversed(trace.events[:end]):
        if any(operand.identity in reached for operand in event.outputs):
            reached.update(operand.identity for operand in event.inputs)
    return reached


def feeds(trace: Trace, index: int, targets: Iterable[int]) -> bool:
    """Whether the event's output reaches an input of one of the events at `targets`."""
    reached = downstream(trace, (o.identity for o in trace.events[index].outputs), index + 1)
    return any(
        operand.identity in reached
        for target in targets
        if target > index
        for operand in trace.events[target].inputs
    )


def of_parameters(operand: Operand, parameters: Iterable[str]) -> bool:
    """Whether it is made of parameters alone."""
    return bool(operand.origins) and operand.origins <= set(parameters)


def data_roles(event: Event, parameters: Iterable[str]) -> frozenset[str]:
    """The roles, parameters aside, that its inputs depend on."""
    roles = frozenset[str]().union(*(operand.origins for operand in event.inputs))
    return roles - set(parameters)
