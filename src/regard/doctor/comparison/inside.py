"""The attention inside a layer: what is compared where the layer returns something else."""

from dataclasses import replace

import numpy as np

from regard.doctor.comparison.anatomy import Anatomy
from regard.doctor.comparison.reference_model import merge_heads
from regard.doctor.probe import Answer, Inputs
from regard.doctor.tracing.dependence import Array
from regard.doctor.tracing.flow import Flow
from regard.doctor.tracing.locate import find
from regard.doctor.tracing.trace import Event, Operand

# What no attention does to its context: a layer or a decoder's step goes on after it.
_FURTHER = frozenset(("layer_norm", "rms_norm", "batch_norm", "group_norm"))
_FURTHER |= {
    "relu",
    "gelu",
    "silu",
    "elu",
    "leaky_relu",
    "tanh",
    "sigmoid",
    "softmax",
    "log_softmax",
}
_FURTHER |= {"gru", "gru_cell", "lstm", "lstm_cell", "rnn_tanh", "rnn_tanh_cell"}


def attended(answer: Answer, anatomy: Anatomy, inputs: Inputs) -> Answer:
    """The answer with the average itself as its context, where the code returns more than that."""
    if answer.context is None or len(anatomy.averages) != 1:
        return answer
    flow, average = Flow(answer.trace), anatomy.averages[0]
    made = {id(event) for event, _ in find(answer.trace, answer.context)}
    last = [at for at, event in enumerate(flow.events) if id(event) in made and at > average]
    if not last:
        return answer
    after = set(flow.forward(average)) & {last[0], *flow.back(last[0])}
    reached = {o.identity for at in (average, *after) for o in flow.events[at].outputs}
    if not any(_goes_further(flow.events[at], reached) for at in after):
        return answer
    context = _laid_out(flow.events[average].outputs[0], anatomy, inputs)
    return answer if context is None else replace(answer, context=context)


def _goes_further(event: Event, reached: set[int]) -> bool:
    """A norm, a squashing, a recurrence, or a sum with an input (a residual connection)."""
    beside = [o for o in event.inputs if o.identity not in reached]
    residual = event.op == "add" and any(o.origins & {"query", "key", "value"} for o in beside)
    return event.op.removesuffix("_") in _FURTHER or residual


def _laid_out(average: Operand, anatomy: Anatomy, inputs: Inputs) -> Array | None:
    """(batch, query_len, width) from the axes that an average has; None where they are others."""
    found, heads = np.asarray(average.value, np.float64), anatomy.parts.num_heads
    batch, query_len = inputs.query.shape[:2]
    if found.shape[:3] == (batch, heads, query_len) and found.ndim == 4:
        return merge_heads(found)
    if found.shape[:2] == (batch * heads, query_len) and found.ndim == 3 and heads > 1:
        return merge_heads(found.reshape(batch, heads, *found.shape[1:]))
    if found.shape[:2] == (batch, query_len) and found.ndim == 3:
        return found
    if found.shape[:2] == (query_len, batch) and found.ndim == 3:
        return found.swapaxes(0, 1)
    return None
