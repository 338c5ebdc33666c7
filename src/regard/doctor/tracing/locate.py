"""Where in a trace each stage of attention is: score, scale, hide, normalize, average."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.doctor.tracing.flow import CONTRACTIONS, Flow, Product
from regard.doctor.tracing.trace import Event, Operand, Trace

MASK_ROLES = frozenset({"mask", "lengths", "causal", "may_attend"})
_EXACT = 1e-4


@dataclass(frozen=True)
class Normalizer:
    """A softmax: `scores` in, `weights` out, over `axis` (of an array of the weights' shape).

    `by_hand` where it is an exp and a division; `shifted` False where that exp is of scores from
    which no largest one was taken. `averages` says that the weights go on into a product.
    """

    event: Event
    index: int
    axis: int
    scores: Operand
    weights: Operand
    by_hand: bool = False
    shifted: bool = True
    averages: bool = False


def normalizers(trace: Trace) -> list[Normalizer]:
    """Every softmax of the trace, in order; those that average something where any does."""
    flow = Flow(trace)
    found = []
    for index, event in enumerate(trace.events):
        one = _softmax(event, index) or _log_space(flow, event, index)
        one = one or _divided(flow, event, index)
        if one is not None:
            averages = _first_product(flow, index) is not None
            found.append(Normalizer(**{**vars(one), "averages": averages}))
    return [one for one in found if one.averages] or found


def score_products(trace: Trace) -> list[Product]:
    """The contractions whose result is normalized, with nothing but elementwise steps between."""
    flow, found = Flow(trace), {}
    for one in normalizers(trace):
        start = flow.maker(one.scores, one.index)
        if start is None:
            continue
        nearer = flow.back(start, lambda at: flow.product(at) is not None)
        for index in [start] if flow.product(start) is not None else nearer:
            product = flow.product(index)
            if product is not None:
                found[index] = product
    return [found[index] for index in sorted(found)]


def context_products(trace: Trace) -> list[Product]:
    """The contractions that weights go into, with nothing but elementwise steps between."""
    flow, found = Flow(trace), {}
    for one in normalizers(trace):
        product = _first_product(flow, one.index)
        if product is not None:
            found[product.index] = product
    return [found[index] for index in sorted(found)]


def mask_events(trace: Trace, mask_role: str = "mask") -> list[Event]:
    """The operations at which a mask meets numbers: masked_fill, where, a sum, a product."""
    roles = MASK_ROLES | {mask_role}
    return [event for event in trace.events if _meets_mask(event, roles)]


def inverted_numbers(trace: Trace) -> list[Event]:
    """Where `~` meets a mask of numbers: ~1 is 254 or -2, ~0 is 255 or -1, and all are true."""
    inverted = [e for e in trace.events if e.op == "logical_not" and e.inputs and e.place]
    return [e for e in inverted if all(o.value.dtype.kind in "iu" for o in e.outputs)]


def scalings(trace: Trace) -> list[tuple[Event, float]]:
    """The multiplications and divisions by one number before a softmax, each with its factor."""
    flow = Flow(trace)
    before = {at for one in normalizers(trace) for at in (one.index, *flow.back(one.index))}
    found = []
    for index in sorted(before):
        factor = _factor(trace.events[index])
        if factor is not None and trace.events[index].place is not None:
            found.append((trace.events[index], factor))
    return found


def in_place(trace: Trace, roles: frozenset[str] | None = None) -> list[Event]:
    """The operations that write into memory of an input (`roles`: only of these)."""
    given = {
        event.outputs[0].identity: event.settings["role"]
        for event in trace.events
        if event.op == "input"
    }
    flow = Flow(trace)
    found = []
    for index, event in enumerate(trace.events):
        if event.settings.get("in_place") and event.outputs:
            written = _memory_of(flow, event.outputs[0], index, given)
            if written is not None and (roles is None or written in roles):
                found.append(event)
    return found


def squeezes(trace: Trace) -> list[Event]:
    """Every `squeeze()` that names no axis."""
    return [e for e in trace.events if e.op == "squeeze" and e.settings.get("dim") is None]


def reshaped_wrongly(trace: Trace) -> list[Event]:
    """Every view or reshape that mixes axes: neither merges neighbours nor splits one."""
    return [e for e in trace.events if e.op in ("view", "reshape") and mixes_axes(e)]


def mixes_axes(event: Event) -> bool:
    """Whether a view cuts across axes: (B, T, D) to (B, H, T, D/H), or to (B, D, T).

    The boundaries between axes, counted in numbers from the left (or right: the same), form a
    chain in which each divides the next exactly when the view only merges and splits.
    """
    if not event.inputs or not event.outputs:
        return False
    before, after = event.inputs[0].shape, event.outputs[0].shape
    marks = sorted({*_boundaries(before), *_boundaries(after)})
    mixed = any(b % a for a, b in pairwise(marks))
    return mixed and not _shifts(before, after)


def find(trace: Trace, array: Any) -> list[tuple[Event, Operand]]:
    """The operations that gave this array (up to axes of size 1 and rounding)."""
    wanted = np.squeeze(np.asarray(array, dtype=np.float64))
    found = []
    for event in trace.events:
        for operand in event.outputs:
            value = np.squeeze(operand.value)
            if value.shape == wanted.shape and value.dtype.kind in "fiub" and _equal(value, wanted):
                found.append((event, operand))
    return found


def _softmax(event: Event, index: int) -> Normalizer | None:
    if event.op != "softmax" or not event.outputs or not event.inputs:
        return None
    axis = event.settings.get("axis", event.inputs[0].value.ndim - 1)
    return Normalizer(event, index, axis, event.inputs[0], event.outputs[0])


def _log_space(flow: Flow, event: Event, index: int) -> Normalizer | None:
    """exp(log_softmax(x)), exp(x - logsumexp(x))."""
    if event.op != "exp" or not event.outputs or not event.inputs:
        return None
    maker = flow.maker(event.inputs[0], index)
    if maker is None:
        return None
    made = flow.events[maker]
    if made.op not in ("log_softmax", "sub") or not made.inputs:
        return None
    weights = event.outputs[0]
    axis = _sums_to_one(weights.value)
    if axis is None:
        return None
    axis = made.settings.get("axis", axis)
    return Normalizer(event, index, axis, made.inputs[0], weights, by_hand=made.op == "sub")


def _divided(flow: Flow, event: Event, index: int) -> Normalizer | None:
    """exp(x) / exp(x).sum(axis), masked or not in between."""
    if event.op != "div" or len(event.inputs) != 2 or not event.outputs:
        return None
    above, below = event.inputs
    exps = [at for at in _nearby(flow, above, index) if flow.events[at].op == "exp"]
    axis = _axis_summed(above.value, below.value)
    if not exps or axis is None:
        return None
    exp = flow.events[exps[0]]
    scores, shifted = exp.inputs[0], False
    maker = flow.maker(scores, exps[0])
    if maker is not None and flow.events[maker].op == "sub":
        made = flow.events[maker]
        peaks = [] if len(made.inputs) < 2 else _nearby(flow, made.inputs[1], maker)
        if any(flow.events[at].op == "max" for at in peaks):
            scores, shifted = made.inputs[0], True
    return Normalizer(event, index, axis, scores, event.outputs[0], True, shifted)


def _nearby(flow: Flow, operand: Operand, before: int) -> list[int]:
    maker = flow.maker(operand, before)
    if maker is None:
        return []
    rest = flow.back(maker, lambda at: flow.events[at].op in CONTRACTIONS)
    return [maker, *(at for at in rest if flow.events[at].op not in CONTRACTIONS)]


def _axis_summed(above: NDArray[Any], below: NDArray[Any]) -> int | None:
    for axis in reversed(range(above.ndim)):
        for keep in (True, False):
            total = above.sum(axis=axis, keepdims=keep)
            if total.shape == below.shape and _close(total, below):
                return axis
    return None


def _sums_to_one(weights: NDArray[Any]) -> int | None:
    for axis in reversed(range(weights.ndim)):
        if weights.shape[axis] > 1 and _close(weights.sum(axis=axis), 1.0):
            return axis
    return None


def _close(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=_EXACT, atol=1e-6, equal_nan=True))


def _equal(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-7, equal_nan=True))


def _first_product(flow: Flow, index: int) -> Product | None:
    for at in flow.forward(index, lambda at: flow.product(at) is not None):
        product = flow.product(at)
        if product is not None:
            return product
    return None


def _meets_mask(event: Event, roles: frozenset[str]) -> bool:
    if event.place is None or not event.inputs:
        return False
    numbers = [o for o in event.inputs if o.value.dtype.kind == "f" and not o.origins <= roles]
    if not numbers:
        return False
    rest = [o for o in event.inputs if o not in numbers]
    if event.op in ("masked_fill", "where", "setitem", "masked_fill_"):
        return event.op != "setitem" or any(o.value.dtype.kind == "b" for o in rest)
    if event.op in ("mul", "add", "sub", "maximum", "minimum", "scaled_dot_product_attention"):
        return any(o.origins & roles or o.value.dtype.kind == "b" for o in rest)
    return False


def _factor(event: Event) -> float | None:
    """What this operation multiplies its array by, if by one number."""
    if event.op not in ("mul", "div"):
        return None
    number = event.settings.get("scalar")
    if number is None:
        single = [o for o in event.inputs if _is_constant(o)]
        if len(event.inputs) != 2 or len(single) != 1 or event.inputs[0] is single[0]:
            return None
        number = single[0].value.item()
    elif event.op == "div" and event.settings.get("scalar_side") == "left":
        return None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not number:
        return None
    return float(number) if event.op == "mul" else 1.0 / float(number)


def _is_constant(operand: Operand) -> bool:
    number = operand.value.size == 1 and operand.value.dtype.kind in "fi"
    return number and not operand.origins & {"query", "key", "value"}


_VIEWS = frozenset(
    [
        "view",
        "reshape",
        "transpose",
        "permute",
        "getitem",
        "unsqueeze",
        "squeeze",
        "expand",
        "detach",
    ]
)


def _memory_of(flow: Flow, operand: Operand, before: int, given: dict[int, str]) -> str | None:
    """The input whose memory this array is a view of."""
    at: Operand = operand
    for _ in range(20):
        if at.identity in given:
            return given[at.identity]
        made = [i for i in flow._made.get(at.identity, ()) if i < before]
        if not made or flow.events[made[0]].op not in _VIEWS or not flow.events[made[0]].inputs:
            return None
        at, before = flow.events[made[0]].inputs[0], made[0]
    return None


def _boundaries(shape: tuple[int, ...]) -> list[int]:
    marks, total = [], 1
    for size in shape:
        total *= size
        marks.append(total)
    return marks


def _shifts(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """The relative-position trick: (..., T, T + 1) viewed as (..., T + 1, T)."""
    return (
        len(before) == len(after) >= 2
        and before[:-2] == after[:-2]
        and before[-2:] == after[:-3:-1]
        and abs(before[-1] - before[-2]) == 1
    )
