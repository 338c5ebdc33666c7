"""The state that a recurrent step inside the examined code makes, and those it is mistaken for."""

from dataclasses import dataclass

import numpy as np

from regard.doctor.tracing.dependence import Array, downstream, upstream
from regard.doctor.tracing.trace import Event, Trace

_LAYERED = frozenset({"gru", "lstm", "rnn_tanh", "rnn_relu", "rnn"})
_CELLS = frozenset({"gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell", "rnn_cell"})
CELL = "the LSTM's cell state c"
FIRST = "the first layer's state"


@dataclass(frozen=True)
class States:
    """What one recurrent step gives, each (batch, 1, dim).

    `output` is the last layer's; `others` are what else may be taken for it, by what it is.
    """

    index: int
    output: Array
    others: dict[str, Array]


def states_before(trace: Trace, end: int) -> States | None:
    """Those of the last recurrent step on which event `end` depends; None without one.

    An encoder, which reads the keys, is no such step.
    """
    needed = upstream(trace, (o.identity for o in trace.events[end].inputs), end)
    for index in range(end - 1, -1, -1):
        event = trace.events[index]
        if event.op not in _LAYERED | _CELLS or not event.outputs:
            continue
        if {"key", "value"} & frozenset().union(*(o.origins for o in event.inputs)):
            continue
        if any(o.identity in needed for o in event.outputs):
            return _states(index, event)
    return None


def _states(index: int, event: Event) -> States | None:
    arrays = [np.asarray(o.value, np.float64) for o in event.outputs]
    others: dict[str, Array] = {}
    if event.op in _CELLS:
        output = arrays[0]
        if event.op == "lstm_cell" and len(arrays) > 1:
            others[CELL] = arrays[1]
    else:
        if len(arrays) < 2 or arrays[1].ndim != 3 or arrays[0].shape[-1] != arrays[1].shape[-1]:
            return None
        output = arrays[1][-1]
        if len(arrays[1]) > 1:
            others[FIRST] = arrays[1][0]
        if event.op == "lstm" and len(arrays) > 2:
            others[CELL] = arrays[2][-1]
    if output.ndim != 2:
        return None
    wide = {said: array[:, None] for said, array in others.items() if array.shape == output.shape}
    return States(index, output[:, None], wide)


def follows(trace: Trace, states: States, identity: int) -> bool:
    """Whether an array is made from the step's states."""
    made = (o.identity for o in trace.events[states.index].outputs)
    return identity in downstream(trace, made, states.index + 1)
