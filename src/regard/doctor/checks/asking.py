"""How checks ask: questions that must be answered, parts of an input, and when answers differ."""

import ast
import io
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.doctor.examination import Examination
from regard.doctor.probe import Answer, Array, Inputs
from regard.doctor.symptoms import Check, NotChecked, Symptom

TOLERANCE = 1e-4  # relative; float32 sums of these sizes stay below 1e-5
Rows = NDArray[np.bool_]
Look = Callable[[Examination], Iterator[Symptom | NotChecked]]


class Unanswered(Exception):
    """The question could not be put, or the code raised: the check cannot be made."""


def check(name: str, claim: str, look: Look) -> Check:
    """A check whose questions may remain unanswered: that is then why it was not made."""

    def guarded(exam: Examination) -> Iterator[Symptom | NotChecked]:
        try:
            yield from look(exam)
        except Unanswered as why:
            yield NotChecked(str(why))

    return Check(name, claim, guarded)


def require(condition: bool, reason: str) -> None:
    """Leaves the check, with the reason, where it cannot be made."""
    if not condition:
        raise Unanswered(reason)


def ask(exam: Examination, inputs: Inputs, **how: bool) -> Answer:
    """The answer, with the weights read from the context where they are not returned."""
    answer = _answered(exam.ask(inputs, **how))
    if answer.weights is None and not how:
        return replace(answer, weights=_read_weights(exam, inputs, answer))
    return answer


def ask_twice(exam: Examination, first: Inputs, second: Inputs) -> Answer:
    """The second of two calls on one copy of the code."""
    return _answered(exam.ask_twice(first, second))


def _answered(answer: Answer) -> Answer:
    if answer.failure is not None:
        raise Unanswered(f"the code raised {answer.failure.kind}: {answer.failure.message}")
    return answer


def weights_of(exam: Examination, inputs: Inputs) -> Array:
    """The weights (batch, heads, query, key), which this check cannot do without."""
    weights = ask(exam, inputs).weights
    if weights is None:
        raise Unanswered("no weights are returned, and the context does not show them")
    return weights


def _read_weights(exam: Examination, inputs: Inputs, answer: Answer) -> Array | None:
    """Weights seen through the context: a value that is 1 at one key shows that key's weight."""
    value, context = inputs.value, answer.context
    if value is None or context is None or context.shape[-1] != value.shape[-1]:
        return None
    key_len = value.shape[1]
    if key_len > value.shape[2] or key_len == 0:
        return None
    shown = exam.ask(inputs.with_(value=np.eye(*value.shape[1:])[None].repeat(len(value), 0)))
    if shown.context is None or shown.context.shape != context.shape:
        return None
    weights = shown.context[..., :key_len]
    return weights[:, None] if not differs(context, weights @ value) else None


def gap(one: Array, other: Array) -> float:
    """The largest difference, relative to the larger of the two; infinite between NaN and not."""
    if one.shape != other.shape:
        return float("inf")
    if one.size == 0:
        return 0.0
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return float("inf")
    finite = np.isfinite(one)
    if not finite.any():
        return 0.0
    one, other = one[finite], other[finite]
    size = max(float(np.abs(one).max()), float(np.abs(other).max()), 1e-6)
    return float(np.abs(one - other).max()) / size


def differs(one: Array, other: Array, tolerance: float = TOLERANCE) -> bool:
    """Whether two answers are not the same number."""
    return gap(one, other) > tolerance


def differ(name: str) -> str:
    """A part of the answer with its verb: the weights differ, the context differs."""
    return f"{name} {'differ' if name.endswith('s') else 'differs'}"


def parts(one: Answer, other: Answer) -> Iterator[tuple[str, Array, Array]]:
    """What both answers hold, by name."""
    if one.weights is not None and other.weights is not None:
        yield "weights", one.weights, other.weights
    if one.context is not None and other.context is not None:
        yield "context", one.context, other.context


def pick_samples(inputs: Inputs, index: Sequence[int]) -> Inputs:
    """Some examples of the batch."""
    chosen, batch = list(index), len(inputs.query)

    def of(array: Any) -> Any:
        held = isinstance(array, np.ndarray) and array.ndim and len(array) == batch
        return array[chosen] if held else array

    return inputs.with_(
        query=inputs.query[chosen],
        key=of(inputs.key),
        value=of(inputs.value),
        may_attend=of(inputs.may_attend),
        lengths=None if inputs.lengths is None else tuple(inputs.lengths[i] for i in chosen),
        extra={name: of(array) for name, array in inputs.extra.items()},
    )


def pick_queries(inputs: Inputs, index: Sequence[int]) -> Inputs:
    """Some queries, where there are keys beside them."""
    may_attend = inputs.may_attend
    return inputs.with_(
        query=inputs.query[:, list(index)],
        may_attend=None if may_attend is None else may_attend[:, list(index)],
    )


def pick_keys(inputs: Inputs, index: Sequence[int]) -> Inputs:
    """Some positions of keys and values; of the one sequence in self-attention."""
    chosen = list(index)
    may_attend = inputs.may_attend
    if may_attend is not None:
        may_attend = may_attend[..., chosen]
        may_attend = may_attend[:, chosen] if inputs.key is None else may_attend
    return inputs.with_(
        query=inputs.query[:, chosen] if inputs.key is None else inputs.query,
        key=None if inputs.key is None else inputs.key[:, chosen],
        value=None if inputs.value is None else inputs.value[:, chosen],
        may_attend=may_attend,
        lengths=None
        if inputs.lengths is None
        else tuple(min(length, len(chosen)) for length in inputs.lengths),
    )


def with_lengths(inputs: Inputs, lengths: Sequence[int]) -> Inputs:
    """The same input with other lengths, and the mask that they mean."""
    key_len = inputs.keys.shape[1]
    shown = np.arange(key_len) < np.asarray(lengths)[:, None, None]
    shape = (len(lengths), inputs.query.shape[1], key_len)
    return inputs.with_(lengths=tuple(lengths), may_attend=np.broadcast_to(shown, shape).copy())


def all_visible(inputs: Inputs) -> Inputs:
    """The same input with nothing hidden by its mask."""
    if inputs.may_attend is None:
        return inputs
    if inputs.lengths is not None:
        return with_lengths(inputs, [inputs.keys.shape[1]] * len(inputs.query))
    return inputs.with_(may_attend=np.ones_like(inputs.may_attend))


def masked_inputs(exam: Examination, seed: int = 0) -> Inputs:
    """Input of which some is hidden; leaves the check where the code takes no mask."""
    require(bool({"mask", "lengths"} & exam.takes), "no argument is known to be a mask or lengths")
    inputs = exam.inputs(seed=seed, lengths=True)
    require(inputs.may_attend is not None, "no hidden position could be expressed")
    return inputs


def allowed(inputs: Inputs) -> Rows:
    """What each query may attend to, a causal mask from the start included."""
    batch, query_len = inputs.query.shape[:2]
    key_len = inputs.keys.shape[1]
    seen = np.tri(query_len, key_len, dtype=np.bool_)[None].repeat(batch, 0)
    if not inputs.causal:
        seen[:] = True
    if inputs.may_attend is not None:
        seen &= inputs.may_attend
    return seen


def some(rows: Rows, axis: int | tuple[int, ...]) -> Rows:
    """Whether any along an axis."""
    return np.asarray(rows.any(axis), np.bool_)


def is_self_attention(exam: Examination, inputs: Inputs) -> bool:
    """Whether one sequence is query and key at once."""
    return inputs.key is None or "key" not in exam.takes


def one_length(exam: Examination, inputs: Inputs) -> bool:
    """Whether there are as many queries as keys: self-attention, also of separate tensors."""
    tied = any({"query_len", "key_len"} <= names for names in exam.equal)
    return tied or is_self_attention(exam, inputs)


def called(exam: Examination) -> set[str]:
    """The names of all functions and methods that the code calls, comments left aside."""
    try:
        tree = ast.parse("\n".join(exam.source))
    except SyntaxError:
        return set()
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [getattr(f, "attr", getattr(f, "id", "")) for f in functions]
    return {name for name in names if isinstance(name, str)}


def stated(exam: Examination) -> str:
    """What the code says in words: its docstrings and comments."""
    lines = io.StringIO("\n".join(exam.source)).readline
    words = []
    try:
        for token in tokenize.generate_tokens(lines):
            comment = token.type == tokenize.COMMENT
            if comment or (token.type == tokenize.STRING and token.line.lstrip()[:1] in "\"'rR"):
                words.append(token.string)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass  # a part of a file: what was read counts
    return "\n".join(words)


def fresh(array: Array, seed: int) -> Array:
    """Other random numbers of the same shape."""
    return np.random.default_rng([seed, 7]).standard_normal(array.shape)


def percent(number: float) -> str:
    """A relative difference in words."""
    return "NaN against a number" if np.isinf(number) else f"{100 * number:.2g} %"


def named(axis: int) -> str:
    """The axis of (batch, heads, query, key) in a word."""
    return ("batch", "heads", "query", "key")[axis]
