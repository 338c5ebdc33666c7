"""The parts of the examined attention, found in one trace."""

from dataclasses import dataclass

from regard.doctor.comparison.fused import FUSED, fused_projections
from regard.doctor.comparison.reference_model import Parts
from regard.doctor.comparison.roles_of_parameters import Projection, projection, same_numbers
from regard.doctor.comparison.states import states_before
from regard.doctor.comparison.wiring import Wiring, other_cuts, query_and_key
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer, Inputs
from regard.doctor.tracing.dependence import PRODUCTS, data_roles, downstream, feeds, upstream
from regard.doctor.tracing.locate import find, normalizers
from regard.doctor.tracing.trace import Operand, Trace

WHOLE = ("scaled_dot_product_attention", FUSED)  # operations that are a whole attention


@dataclass(frozen=True)
class Anatomy:
    """The stages' input, and the events around which the stages lie.

    `normalizers`, `averages` and `projections` index the trace's events.
    """

    parts: Parts
    squashing: frozenset[str]  # tanh, relu, where one of them lies before the softmax
    is_self: bool
    normalizers: tuple[int, ...]
    averages: tuple[int, ...]
    projections: dict[str, Projection]  # by role: query, key, value, output
    wirings: tuple[Parts, ...]  # other readings of the same trace
    made_inside: bool  # whether the query is a state that the call itself makes


def _thirds(parts: Parts, joint: Projection) -> bool:
    """Whether one projection makes queries, keys and values."""
    return parts.query.shape[-1] * 3 == joint.matrix.shape[1]


def _normalizers(trace: Trace, names: frozenset[str], answer: Answer) -> list[int]:
    found = [one.index for one in normalizers(trace)]
    found = found or [i for i, e in enumerate(trace.events) if e.op in ("log_softmax", *WHOLE)]
    if found or answer.weights is None:
        return found
    made = {id(event) for event, _ in find(trace, answer.weights)}
    return [i for i, e in enumerate(trace.events) if id(e) in made and e.op != "input"][:1]


def _averages(trace: Trace, normalizers: list[int], names: frozenset[str]) -> list[int]:
    """Products of weights with what does not depend on them."""
    found: list[int] = []
    for index in normalizers:
        if trace.events[index].op in WHOLE:
            found.append(index)
            continue
        weights = downstream(
            trace, (o.identity for o in trace.events[index].outputs), index + 1
        ) | {o.identity for o in trace.events[index].outputs}
        for later in range(index + 1, len(trace.events)):
            event = trace.events[later]
            if event.op not in PRODUCTS | {"mul"} or later in found:
                continue
            other = [o for o in event.inputs if o.identity not in weights and o.value.ndim >= 2]
            if len(other) == 1 and len(event.inputs) == 2 and other[0].origins - names:
                if other[0].origins & {"mask", "lengths"} == other[0].origins:
                    continue
                found.append(later)
                break
    return found


def dissect(exam: Examination, inputs: Inputs, answer: Answer) -> Anatomy | None:
    """The anatomy behind one traced answer; None where no attention is seen in it."""
    trace = answer.trace
    names = frozenset(exam.parameters())
    softmaxes = _normalizers(trace, names, answer)
    if not softmaxes:
        return None
    averages = _averages(trace, softmaxes, names)
    is_self = inputs.key is None
    fused = trace.events[softmaxes[0]].op == FUSED
    projections, joint = (
        (fused_projections(trace, softmaxes[0], names), [])
        if fused
        else _projections(trace, softmaxes, averages, names, is_self)
    )
    query, key, value = (projections.get(role) for role in ("query", "key", "value"))
    joint_kv = key is not None and key is value
    if joint_kv and key is not None and key is not query:
        whole = query is not None and key.matrix.shape[1] == 2 * query.matrix.shape[1]
        if not whole:
            del projections["value"]
            value = None
    first = softmaxes[0]
    states = None if is_self else states_before(trace, first)
    wiring = Wiring(exam, inputs, trace, names, query, key, value, states)
    parts = wiring.parts(joint)
    if parts is None:
        return None
    output = projections.get("output") or _output(trace, averages, names, answer)
    if output is not None:
        projections["output"] = output
        parts = parts.with_(output=(output.matrix, output.bias))
    squashing = {
        e.op.removesuffix("_")
        for i, e in enumerate(trace.events[:first])
        if e.op.removesuffix("_") in ("tanh", "relu") and feeds(trace, i, softmaxes)
    }
    others = [parts.with_(query=parts.key, key=parts.query)] if is_self else []
    if is_self and query is not None and query is key is value and _thirds(parts, query):
        others += other_cuts(parts)
    if joint_kv and value is None and not squashing and exam.score in ("scaled_dot", "unknown"):
        others.append(parts.with_(value=parts.key))
    return Anatomy(
        parts,
        frozenset(squashing),
        is_self,
        tuple(softmaxes),
        tuple(averages),
        projections,
        tuple(others),
        parts.raw_query is not inputs.query,
    )


def _projections(
    trace: Trace, softmaxes: list[int], averages: list[int], names: frozenset[str], is_self: bool
) -> tuple[dict[str, Projection], list[int]]:
    """The projections of query, key and value, and the products at which query and key meet."""
    score_side: list[Projection] = []
    value_side: list[Projection] = []
    valued = {o.identity for i in averages for o in _values_of(trace, i, softmaxes)}
    behind = upstream(trace, valued, max(averages)) | valued if averages else set()
    joint: list[int] = []
    for index, event in enumerate(trace.events[: max([*softmaxes, *averages]) + 1]):
        if event.op not in PRODUCTS:
            continue
        if {"query", "key"} <= data_roles(event, names):
            joint.append(index)
        found = projection(trace, index, names)
        if found is None:
            continue
        if found.output.identity in behind:
            value_side.append(found)
        if index < softmaxes[0] and feeds(trace, index, softmaxes):
            score_side.append(found)
    query, key = query_and_key(score_side, is_self)
    value = value_side[-1] if value_side else None
    if value is not None and key is not None and value.index == key.index:
        value = key
    roles = {"query": query, "key": key, "value": value}
    return {role: each for role, each in roles.items() if each is not None}, joint


def _values_of(trace: Trace, average: int, normalizers: list[int]) -> list[Operand]:
    event = trace.events[average]
    if event.op in WHOLE:
        return list(event.inputs[2:3])
    weights = {o.identity for i in normalizers for o in trace.events[i].outputs}
    for i in normalizers:
        weights |= downstream(trace, (o.identity for o in trace.events[i].outputs), i + 1)
    return [o for o in event.inputs if o.identity not in weights]


def _output(
    trace: Trace, averages: tuple[int, ...] | list[int], names: frozenset[str], answer: Answer
) -> Projection | None:
    """The projection whose result is the context that the code returns."""
    if not averages or answer.context is None:
        return None
    for index in range(len(trace.events) - 1, averages[0], -1):
        found = projection(trace, index, names)
        if found is None:
            continue
        result = found.output.value
        if found.bias is not None and not same_numbers(result, answer.context):
            result = result + found.bias
        if same_numbers(result, answer.context):
            return found
    return None
