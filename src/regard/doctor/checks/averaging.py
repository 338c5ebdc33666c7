"""The context is weights @ value: of the values, not of keys or queries, with those weights."""

import re
from collections.abc import Callable, Iterator

import numpy as np

from regard.doctor.checks.asking import Unanswered, ask, check, differs, fresh, percent, require
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer, Array, Inputs
from regard.doctor.symptoms import NotChecked, Note, Symptom

MOST_QUESTIONS = 60
FIT = 1e-3  # what a least-squares fit in float32 answers may leave
# An output that is no linear function of the context: normalized, squashed, or joined and squashed.
NONLINEAR = re.compile(r"layer_?norm|rms_?norm|relu|gelu|\bcat\(|concat", re.I)


NAME = "context-is-weights-times-value"


def _weighted(exam: Examination) -> Iterator[Symptom | NotChecked]:
    asked = _several(exam)
    if all(_is_exact(inputs, answer) for inputs, answer in asked):
        return
    heads = _weights(asked[0][1]).shape[1]
    averaged_heads = f"the weights are averaged over {exam.num_heads} heads, the context is not"
    require(heads >= exam.num_heads, averaged_heads)
    left = _fit(asked, _averaged)
    if heads > 1 and left >= FIT and not any(_tell_heads_apart(answer) for _, answer in asked):
        said = f"all {heads} heads are returned with the same weights, and average differently"
        yield Symptom(NAME, said, ("returned-weights",))
        return
    if left < FIT:
        yield from _wrong_map(exam, asked)
        return
    if _fit(asked, lambda inputs, _: inputs.query) < FIT:
        yield Symptom(NAME, "the context is a function of its query alone", ("context-source",))
    elif _fit(asked, _with_query) < FIT:
        yield Note("the output adds the query to the context (a residual connection)")
    elif _fit(asked, lambda inputs, answer: _averages(answer, inputs.keys)) < FIT:
        said = "the context is an average of the keys, not of the values"
        yield Symptom(NAME, said, ("context-source",))
    elif _fit(asked, _mean) < FIT:
        said = "the context is a plain mean of the values, whatever the weights"
        yield Symptom(NAME, said, ("context-source",))
    elif NONLINEAR.search("\n".join(exam.source)):
        raise Unanswered("the output is no linear function of the context")
    else:
        said = f"the context differs from weights @ value by {percent(left)}"
        causes = ("context-source", "returned-weights", "mask-after-softmax", "head-split")
        yield Symptom(NAME, said, causes)


def _wrong_map(exam: Examination, asked: list[tuple[Inputs, Answer]]) -> Iterator[Symptom]:
    """A linear map that is no projection of values: a stray factor, or the score's own weights."""
    found = _map(asked, _averaged)[:-1]
    width = len(found)
    if found.shape == (width, width):
        factor = float(found.diagonal().mean())
        if abs(factor - 1) > FIT and not differs(found, factor * np.eye(width), FIT):
            said = f"the context is {factor:.3g} times weights @ value"
            yield Symptom(NAME, said, ("context-source",))
            return
    if exam.score not in ("additive", "concat", "general"):
        return
    for name, array in exam.parameters().items():
        same = any(not differs(found, side, FIT) for side in (array, array.T))
        other = exam.with_parameters({name: array + fresh(array, 19)})
        inputs, answer = asked[0]
        if same and differs(_weights(answer), _weights(ask(other, inputs)), FIT):
            said = f"the context averages the keys projected by {name} for the score"
            yield Symptom(NAME, said, ("context-source",))
            return


def _averaged(inputs: Inputs, answer: Answer) -> Array:
    return _averages(answer, inputs.values)


def _with_query(inputs: Inputs, answer: Answer) -> Array:
    return np.concatenate([_averages(answer, inputs.values), inputs.query], -1)


def _mean(inputs: Inputs, _: Answer) -> Array:
    batch, query_len = inputs.query.shape[:2]
    return inputs.values.mean(1, keepdims=True) + np.zeros((batch, query_len, 1))


def _weights(answer: Answer) -> Array:
    assert answer.weights is not None
    return answer.weights


def _context(answer: Answer) -> Array:
    assert answer.context is not None
    return answer.context


def _several(exam: Examination) -> list[tuple[Inputs, Answer]]:
    """Enough questions that a linear map from averages to contexts is more than determined."""
    first = exam.inputs()
    answer = ask(exam, first)
    require(answer.weights is not None, "no weights are returned")
    require(answer.context is not None, "no context is returned")
    batch, heads, query_len, key_len = _weights(answer).shape
    fits = (batch, query_len) == _context(answer).shape[:2] and key_len == first.values.shape[1]
    shapes = f"weights {_weights(answer).shape} do not fit context {_context(answer).shape}"
    require(fits, shapes)
    unknown = heads * first.values.shape[2] + first.query.shape[2] + 1
    number = -(-2 * unknown // (batch * query_len))
    require(number <= MOST_QUESTIONS, "the context has too many numbers to be fitted")
    inputs = [first, *(exam.inputs(seed=seed) for seed in range(1, number))]
    return [(one, ask(exam, one)) for one in inputs]


def _tell_heads_apart(answer: Answer) -> bool:
    weights = _weights(answer)
    return differs(weights, np.broadcast_to(weights[:, :1], weights.shape))


def _is_exact(inputs: Inputs, answer: Answer) -> bool:
    weights = _weights(answer)
    return weights.shape[1] == 1 and not differs(_context(answer), weights[:, 0] @ inputs.values)


def _averages(answer: Answer, source: Array) -> Array:
    """What each head would average: (batch, query, heads · width)."""
    averages = _weights(answer) @ source[:, None]  # batch heads query width
    batch, heads, query_len, width = averages.shape
    return averages.transpose(0, 2, 1, 3).reshape(batch, query_len, heads * width)


def _fit(asked: list[tuple[Inputs, Answer]], source: Callable[[Inputs, Answer], Array]) -> float:
    """The relative residual of the best linear map from the sources to the contexts."""
    rows, target = _rows(asked, source)
    spread = float(np.linalg.norm(target - target.mean(0)))
    return float(np.linalg.norm(rows @ _map(asked, source) - target)) / max(spread, 1e-9)


def _map(asked: list[tuple[Inputs, Answer]], source: Callable[[Inputs, Answer], Array]) -> Array:
    """That map, its constant part the last row."""
    return np.asarray(np.linalg.lstsq(*_rows(asked, source), rcond=None)[0], np.float64)


def _rows(
    asked: list[tuple[Inputs, Answer]], source: Callable[[Inputs, Answer], Array]
) -> tuple[Array, Array]:
    """What is mapped, with a constant, and to what: one row a query."""
    rows = np.concatenate([_flat(source(*one)) for one in asked])
    target = np.concatenate([_flat(_context(answer)) for _, answer in asked])
    require(bool(np.isfinite(rows).all() and np.isfinite(target).all()), "an answer is not finite")
    return np.concatenate([rows, np.ones((len(rows), 1))], 1), target


def _flat(array: Array) -> Array:
    return array.reshape(-1, array.shape[-1])


def _values_alone(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs()
    require("value" in exam.takes and inputs.value is not None, "the keys are the values")
    assert inputs.value is not None
    before = ask(exam, inputs)
    require(before.context is not None, "no context is returned")
    other = ask(exam, inputs.with_(value=fresh(inputs.value, 12)))
    if not differs(_context(before), _context(other)):
        said = "other values give the same context"
        yield Symptom("values-alone-are-averaged", said, ("context-source",))
        return
    if before.weights is not None and other.weights is not None:
        if differs(before.weights, other.weights):
            said = "other values change the weights"
            causes = ("score-formula", "context-source", "returned-weights")
            yield Symptom("values-alone-are-averaged", said, causes)
        return  # with weights at hand, the context is compared with weights @ value
    yield from _mixed_values(exam, inputs)


def _mixed_values(exam: Examination, inputs: Inputs) -> Iterator[Symptom]:
    """Equal values at every position come out as they went in, whatever queries and keys are."""
    if inputs.causal or NONLINEAR.search("\n".join(exam.source)):
        return
    assert inputs.value is not None
    contexts = []
    for value in (inputs.value, fresh(inputs.value, 13)):
        same = np.broadcast_to(value[:, :1], value.shape).copy()
        for query in (inputs.query, fresh(inputs.query, 14)):
            contexts.append(_context(ask(exam, inputs.with_(query=query, value=same))))
    mixed = contexts[0] - contexts[1] - contexts[2] + contexts[3]  # a residual query cancels
    if differs(contexts[0] + mixed, contexts[0], 1e-3):
        said = "equal values at every position give a context that depends on the query"
        causes = ("softmax-axis", "context-source", "mask-after-softmax", "dropout")
        yield Symptom("values-alone-are-averaged", said, causes)


CHECKS = (
    check(
        NAME,
        "the context is weights @ value with the weights returned",
        _weighted,
    ),
    check("values-alone-are-averaged", "values, and nothing else, are averaged", _values_alone),
)
