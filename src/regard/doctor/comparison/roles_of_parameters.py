"""What each parameter does, read off a trace: which matrix projects the query, which the keys."""

from dataclasses import dataclass

import numpy as np

from regard.doctor.tracing.dependence import PRODUCTS, Array, of_parameters
from regard.doctor.tracing.trace import Event, Operand, Trace


@dataclass(frozen=True)
class Projection:
    """`output = data @ matrix + bias`, seen at event `index`."""

    index: int
    parameter: str
    matrix: Array  # (in, out)
    bias: Array | None
    data: Operand
    output: Operand

    def of(self, data: Array) -> Array:
        """Any data projected alike."""
        projected = data @ self.matrix
        return np.asarray(projected if self.bias is None else projected + self.bias)


def same_numbers(left: Array, right: Array, tolerance: float = 1e-4) -> bool:
    """Whether two arrays hold the same numbers in any order and shape."""
    if left.size != right.size or not left.size:
        return False
    ours = np.sort(np.asarray(left, np.float64), axis=None)
    theirs = np.sort(np.asarray(right, np.float64), axis=None)
    if not np.isfinite(ours).all() or not np.isfinite(theirs).all():
        return False
    return bool(np.abs(ours - theirs).max() <= tolerance * (np.abs(theirs).max() + 1e-12))


def _matrix(data: Array, weight: Array, output: Array, bias: Array | None) -> Array | None:
    """The (in, out) matrix with which the output is the data's projection."""
    if weight.ndim == 3:
        forms = [np.moveaxis(weight, axis, 0).reshape(weight.shape[axis], -1) for axis in (1, 0, 2)]
    elif weight.ndim == 2:
        forms = [weight, weight.T]
    else:
        return None
    for form in forms:
        for axis in range(data.ndim - 1, -1, -1):
            if data.shape[axis] == form.shape[0]:
                projected = np.moveaxis(data, axis, -1) @ form
                if bias is not None and bias.size == form.shape[1]:
                    projected = projected + bias.reshape(-1)
                if same_numbers(projected, output):
                    return form
    return None


def _bias_after(trace: Trace, index: int, names: frozenset[str], width: int) -> Array | None:
    made = {operand.identity for operand in trace.events[index].outputs}
    for event in trace.events[index + 1 : index + 4]:
        if event.op == "add" and any(operand.identity in made for operand in event.inputs):
            for operand in event.inputs:
                if of_parameters(operand, names) and operand.value.size == width > 1:
                    return np.asarray(operand.value, np.float64).reshape(-1)
    return None


def projection(trace: Trace, index: int, names: frozenset[str]) -> Projection | None:
    """The event as a projection of one array by one parameter, None where it is not one."""
    event: Event = trace.events[index]
    if event.op not in PRODUCTS or not event.outputs:
        return None
    weights = [o for o in event.inputs if of_parameters(o, names) and o.value.ndim >= 2]
    data = [o for o in event.inputs if o.origins - names]
    if len(weights) != 1 or len(data) != 1:
        return None
    output = event.outputs[0]
    bias = None
    for operand in event.inputs:
        if of_parameters(operand, names) and operand.value.ndim == 1:
            bias = np.asarray(operand.value, np.float64)
    weight = np.asarray(weights[0].value, np.float64)
    matrix = _matrix(np.asarray(data[0].value, np.float64), weight, output.value, bias)
    if matrix is None or min(matrix.shape) == 1:
        return None
    if bias is None:
        bias = _bias_after(trace, index, names, matrix.shape[1])
    (parameter,) = sorted(weights[0].origins)[:1]
    return Projection(index, parameter, matrix, bias, data[0], output)


def vectors(
    trace: Trace, names: frozenset[str], width: int, heads: int
) -> list[tuple[int, Operand]]:
    """Parameters that contract the last axis (v of the additive score), with their events.

    One vector of the whole width, one that all heads share, or one for each head.
    """
    found: list[tuple[int, Operand]] = []
    for index, event in enumerate(trace.events):
        if event.op not in PRODUCTS | {"mul"}:
            continue
        for operand in event.inputs:
            if not of_parameters(operand, names) or operand.value.size <= 1:
                continue
            if event.op == "linear" and operand is not event.inputs[1]:
                continue
            long = [size for size in operand.shape if size > 1]
            if long in ([width], [width // heads], [heads, width // heads]):
                found.append((index, operand))
    return found
