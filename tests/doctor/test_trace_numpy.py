"""The trace of NumPy code: operators, methods, functions, loops, new arrays, writes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.doctor.tracing.recorder import Recorded
from regard.doctor.tracing.trace import Event
from regard.doctor.tracing.trace_numpy import Traced, record_numpy

Array = NDArray[Any]


def softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def additive(state: Array, states: Array, W_a: Array, U_a: Array, v_a: Array) -> Any:
    scores = np.array([v_a @ np.tanh(W_a @ state + U_a @ h) for h in states])
    weights = softmax(scores)
    return weights @ states, weights


def filled(state: Array, states: Array) -> Array:
    scores = np.zeros(len(states))
    for i in range(len(states)):
        scores[i] = state.dot(states[i])
    scores -= scores.max()
    return scores.T.reshape(-1, 1)


def fail(state: Array, states: Array) -> Array:
    return state + states


def inputs(width: int = 13) -> dict[str, Array]:
    random = np.random.default_rng(0)
    return {"query": random.normal(size=width), "key": random.normal(size=(7, 13))}


def weights() -> dict[str, Array]:
    random = np.random.default_rng(1)
    shapes = {"W_a": (19, 11), "U_a": (19, 13), "v_a": (19,)}
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


def recorded() -> Recorded:
    return record_numpy(
        lambda n, p: additive(n["query"], n["key"], **p), inputs(11), weights(), __file__
    )


def of(record: Recorded, op: str) -> list[Event]:
    return [event for event in record.trace.events if event.op == op]


def test_the_answer_is_the_untraced_one_in_plain_arrays():
    context, alphas = recorded().result
    right = additive(*inputs(11).values(), **weights())
    assert type(context) is np.ndarray
    assert not isinstance(alphas, Traced)
    assert np.array_equal(context, right[0])
    assert np.array_equal(alphas, right[1])


def test_origins_pass_through_loops_and_new_arrays():
    (array,) = of(recorded(), "array")
    assert array.outputs[0].origins == {"query", "key", "W_a", "U_a", "v_a"}
    assert array.outputs[0].shape == (7,)
    assert len(of(recorded(), "tanh")) == 7


def test_the_place_is_the_innermost_line_and_the_caller_is_known():
    (div,) = of(recorded(), "div")
    assert div.place is not None
    assert div.place.code == "return e / e.sum(axis=axis, keepdims=True)"
    assert div.settings["called_from"][0].code == "weights = softmax(scores)"


def test_writes_make_an_array_depend_on_what_was_written():
    record = record_numpy(
        lambda n, _: filled(**{"state": n["query"], "states": n["key"]}), inputs(), {}, __file__
    )
    assert of(record, "zeros")[0].outputs[0].origins == frozenset()
    (sub,) = of(record, "sub")
    assert sub.settings["in_place"] is True
    assert sub.inputs[0].origins == {"query", "key"}
    assert [e.op for e in record.trace.events[-2:]] == ["transpose", "reshape"]


def test_the_operation_that_raises_comes_last():
    record = record_numpy(lambda n, _: fail(n["query"], n["key"]), inputs(11), {}, __file__)
    assert isinstance(record.error, ValueError)
    assert record.trace.events[-1].op == "add"
    assert "error" in record.trace.events[-1].settings


def test_numpy_is_itself_again_afterwards():
    before = np.array, np.zeros
    recorded()
    assert (np.array, np.zeros) == before
