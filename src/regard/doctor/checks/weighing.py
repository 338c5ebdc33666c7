"""Weights sum to 1 over the keys, and are moved by queries and by keys."""

import re
from collections.abc import Iterator

import numpy as np

from regard.doctor.binding.bound import BoundExamination
from regard.doctor.checks.asking import (
    Rows,
    allowed,
    called,
    check,
    differs,
    fresh,
    is_self_attention,
    named,
    require,
    some,
    stated,
    weights_of,
)
from regard.doctor.examination import Examination
from regard.doctor.probe import Array, Inputs
from regard.doctor.symptoms import NotChecked, Note, Symptom
from regard.doctor.tracing.blame import first_nan
from regard.doctor.tracing.locate import find
from regard.doctor.tracing.trace import Event

NAN = "weights hold NaN"
SUM_TOLERANCE = 1e-3  # half-precision code sums to 1 within this; no fault is as small


def _sums_to_one(exam: Examination) -> Iterator[Symptom | NotChecked]:
    plain = exam.inputs()
    weights = weights_of(exam, plain)
    key_len, query_len = plain.keys.shape[1], plain.query.shape[1]
    if isinstance(exam, BoundExamination) and _keys_first(exam):
        said = "the weights are returned as (keys, queries)"
        if QUERIES_FIRST.search(stated(exam)):
            where = _made(exam, plain, weights)
            said = f"{said}, and said to be (queries, keys)"
            yield Symptom("weights-sum-to-one", said, ("returned-weights",), where)
            return
        yield Note(said)
    if weights.shape[-2:] == (key_len, query_len) and key_len != query_len:
        seen = f"weights are (key, query), {weights.shape[-2:]}, where (query, key) is due"
        yield Symptom("weights-sum-to-one", seen, ("returned-weights", "softmax-axis"))
        return
    wrong = _wrong_sums(weights, allowed(plain))
    if wrong is not None:
        yield _located(exam, plain, *wrong)
        return
    if {"mask", "lengths"} & exam.takes:
        masked = exam.inputs(lengths=True)
        hidden = _wrong_sums(weights_of(exam, masked), allowed(masked))
        if hidden is not None:
            causes = ("mask-after-softmax", "empty-row", "mask-value")
            yield _located(exam, masked, f"with a mask, {hidden[0]}", causes)


# Words for the shape of weights, queries before keys.
QUERIES_FIRST = re.compile(
    r"\b(n_?|num_?|len_?|t_?|l_?)?(quer(y|ies)|q|dec|tgt|trg|target)(_?len)?\s*,\s*"
    r"(n_?|num_?|len_?|t_?|l_?)?(keys?|k|enc|src|source|memory)(_?len)?\s*\)",
    re.I,
)


def _keys_first(exam: BoundExamination) -> bool:
    axes = [form.axes for form in exam.binding.outputs if form.role == "weights"]
    return any("K" in a and "Q" in a and a.index("K") < a.index("Q") for a in axes)


def _made(exam: Examination, inputs: Inputs, weights: Array) -> Event | None:
    """The last operation that gave the weights, as they are or turned."""
    trace = exam.ask(inputs, trace=True).trace
    turned = weights.swapaxes(-1, -2)
    found = [event for part in (turned, turned[:1]) for event, _ in find(trace, part)]
    found = [event for event in found if event.place is not None and event.op != "input"]
    return found[-1] if found else None


def _located(exam: Examination, inputs: Inputs, said: str, causes: tuple[str, ...]) -> Symptom:
    """The symptom; of NaN with the operation that made the first one, and its cause."""
    event = None
    if NAN in said:
        event = first_nan(exam.ask(inputs, trace=True).trace)
        causes = (*nan_causes(exam, event, inputs.causal), *causes)
    return Symptom("weights-sum-to-one", said, tuple(dict.fromkeys(causes)), event)


def nan_causes(exam: Examination, event: Event | None, causal: bool) -> tuple[str, ...]:
    """What the operation that makes the first NaN says of the fault."""
    if event is None:
        return ()
    masked = {"mask", "lengths", exam.mask_role}
    if event.op == "mul" and any(o.origins & masked or not o.origins for o in event.inputs):
        return ("mask-value",)  # 0 · inf
    rows = [o.value for o in event.inputs if o.value.dtype.kind == "f" and o.value.ndim]
    if rows and any(np.isneginf(row).all(-1).any() for row in rows):
        if causal:
            return ("causal-alignment", "empty-row")
        return ("mask-polarity", "empty-row", "mask-value")  # every key of a row is hidden
    return ("overflow",)


def _wrong_sums(weights: Array, seen: Rows) -> tuple[str, tuple[str, ...]] | None:
    """What is wrong with the sums over keys, and the faults that would cause it."""
    sums = weights.sum(-1)
    live = np.broadcast_to(some(seen, -1)[:, None], sums.shape)
    if np.isnan(sums[live]).any():
        return NAN, ("overflow", "uninitialized", "mask-value", "empty-row")
    negative = weights.min(initial=0.0) < -1e-6
    if not negative and np.allclose(sums[live], 1.0, atol=SUM_TOLERANCE):
        return None
    axis = normalized_axis(weights)
    if axis is not None:
        said = f"weights sum to 1 over the {named(axis)} axis; over keys to "
        return f"{said}{sums.min():.3g} … {sums.max():.3g}", ("softmax-axis",)
    if np.allclose(weights, 1.0, atol=1e-6):
        return "every weight is 1: normalized over an axis of size 1", ("softmax-axis", "squeeze")
    if negative:
        return f"a weight is {weights.min():.3g}", ("returned-weights", "score-formula")
    causes = ("softmax-axis", "mask-after-softmax", "returned-weights", "dropout")
    return f"weights sum to {sums.min():.3g} … {sums.max():.3g} over keys", causes


def normalized_axis(weights: Array) -> int | None:
    """The other axis than the keys over which the weights sum to 1, if there is one."""
    for axis in (2, 1, 0):
        if weights.shape[axis] > 1 and np.allclose(weights.sum(axis), 1.0, atol=SUM_TOLERANCE):
            return axis
    return None


def _query_moves(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs()
    require("query" in exam.takes or inputs.key is None, "the code takes no query")
    require(inputs.keys.shape[1] > 1, "one key always has weight 1")
    weights = weights_of(exam, inputs)
    require(bool(np.isfinite(weights).all()), NAN)
    cause: tuple[str, ...] = ("query-ignored", "softmax-axis", "broadcast")
    if not _moves(weights, weights.mean(-1, keepdims=True)) and not is_self_attention(exam, inputs):
        cause = ("query-ignored", "key-ignored", "softmax-axis")  # one score for all keys
    if exam.score in ("additive", "concat") and not {"tanh", "Tanh"} & called(exam):
        cause = ("score-formula", *cause)  # without tanh the query's part cancels in the softmax
    if weights.shape[2] > 1 and not inputs.causal and not _moves(weights[:, :, :1], weights):
        seen = "every query of an example gets the same weights"
        yield Symptom("query-moves-weights", seen, cause)
    elif not is_self_attention(exam, inputs):
        other = inputs.with_(query=fresh(inputs.query, 1))
        if not _moves(weights, weights_of(exam, other)):
            yield Symptom("query-moves-weights", "another query gets the same weights", cause)


def _keys_move(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs()
    require(not is_self_attention(exam, inputs), "keys are the queries: self-attention")
    require(inputs.keys.shape[1] > 1, "one key always has weight 1")
    other = inputs.with_(key=fresh(inputs.keys, 2))
    before = weights_of(exam, inputs)
    require(bool(np.isfinite(before).all()), NAN)
    if not _moves(before, weights_of(exam, other)):
        seen = "other encoder states get the same weights"
        yield Symptom("keys-move-weights", seen, ("key-ignored", "score-formula", "softmax-axis"))


def _moves(one: Array, other: Array) -> bool:
    shape = np.broadcast_shapes(one.shape, other.shape)
    return differs(np.broadcast_to(one, shape), np.broadcast_to(other, shape))


CHECKS = (
    check("weights-sum-to-one", "weights sum to 1 over the keys of each query", _sums_to_one),
    check("query-moves-weights", "two queries get two weightings", _query_moves),
    check("keys-move-weights", "the encoder states move the weights", _keys_move),
)
