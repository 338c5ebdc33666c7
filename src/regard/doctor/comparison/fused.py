"""The projections inside torch's own multi-head attention, which runs as one operation."""

import numpy as np

from regard.doctor.comparison.roles_of_parameters import Projection
from regard.doctor.tracing.dependence import Array, of_parameters
from regard.doctor.tracing.trace import Operand, Trace

FUSED = "multi_head_attention_forward"
_ROLES = ("query", "key", "value")


def fused_projections(trace: Trace, index: int, names: frozenset[str]) -> dict[str, Projection]:
    """By role: query, key, value and output; nothing where the operation is not read."""
    event = trace.events[index]
    data, rest = event.inputs[:3], event.inputs[3:]
    matrices = [o for o in rest if of_parameters(o, names) and o.value.ndim == 2]
    biases = [_array(o) for o in rest if of_parameters(o, names) and o.value.ndim == 1]
    if len(data) < 3 or not event.outputs or not matrices:
        return {}
    width = data[0].shape[-1]
    if len(matrices) == 2 and matrices[0].shape == (3 * width, width):
        joined, out = matrices
        inside = [(joined, part) for part in np.split(_array(joined), 3)]
    elif len(matrices) == 4:
        out, *apart = matrices
        inside = [(each, _array(each)) for each in apart]
    else:
        return {}
    cut = [b for b in biases if b.size == 3 * width]
    added = np.split(cut[0], 3) if cut else [None] * 3
    last = [b for b in biases if b.size == width]
    made = event.outputs[0]
    found = {
        role: Projection(index, _name(operand), matrix.T, bias, read, made)
        for role, (operand, matrix), bias, read in zip(_ROLES, inside, added, data, strict=True)
    }
    bias = last[-1] if last else None
    found["output"] = Projection(index, _name(out), _array(out).T, bias, made, made)
    return found


def _array(operand: Operand) -> Array:
    return np.asarray(operand.value, np.float64)


def _name(operand: Operand) -> str:
    return min(operand.origins)
