"""A causal mask: each position sees itself and the past, and nothing of the future."""

import re
from collections.abc import Iterator

import numpy as np

from regard.doctor.checks.asking import (
    Rows,
    ask,
    check,
    differs,
    fresh,
    is_self_attention,
    require,
)
from regard.doctor.examination import Examination
from regard.doctor.probe import Array, Inputs
from regard.doctor.symptoms import NotChecked, Note, Symptom
from regard.doctor.tracing.trace import Event

NAME = "causal-alignment"
# Code that is given keys of earlier calls: its queries are the last positions, not the first.
CACHED = re.compile(
    r"cach|\bpast_|\bpast=|last (query|position|row) sees|last rows of the|incremental|\bnewest\b",
    re.I,
)


def _alignment(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs()
    require(inputs.causal or "causal" in exam.takes, "the code has no causal mask")
    inputs = inputs.with_(causal=True)
    seen = _seen(exam, inputs)
    query_len, key_len = seen.shape
    start = np.tri(query_len, key_len, dtype=np.bool_)
    end = np.tri(query_len, key_len, key_len - query_len, dtype=np.bool_)
    if (seen == start).all() or (seen == end).all():
        if query_len != key_len:
            which = "start" if (seen == start).all() else "end"
            if which == "start" and CACHED.search("\n".join(exam.source)):
                said = f"the last of {query_len} queries sees {query_len} of {key_len} keys"
                yield Symptom(
                    NAME, f"{said}: aligned at the start", (NAME,), _triangle(exam, inputs)
                )
                return
            yield Note(f"the causal mask is aligned at the {which} of the keys")
        return
    if query_len == key_len and (width := _window(seen)) is not None:
        yield Note(f"each query sees a window of {width} positions, itself the last")
        return
    yield Symptom(NAME, *_misaligned(seen, start), _triangle(exam, inputs))


def _triangle(exam: Examination, inputs: Inputs) -> Event | None:
    """The operation that makes the triangle: tril, triu, a comparison, or `is_causal`."""
    events = [e for e in exam.ask(inputs, trace=True).trace.events if e.place is not None]
    made = [e for e in events if e.op in ("tril", "triu")]
    made = made or [e for e in events if e.settings.get("is_causal")]
    compared = ("le", "lt", "ge", "gt")
    made = made or [
        e for e in events if e.op in compared and e.outputs and e.outputs[0].value.ndim > 1
    ]
    return made[-1] if made else None


def _window(seen: Rows) -> int | None:
    """The width of a sliding window that ends at the query itself, if that is what is seen."""
    width = int(seen[-1].sum())
    band = np.tri(len(seen), dtype=np.bool_) & ~np.tri(len(seen), k=-width, dtype=np.bool_)
    return width if width and (seen == band).all() else None


def _misaligned(seen: Rows, right: Rows) -> tuple[str, tuple[str, ...]]:
    """What a query sees that it must not, or the reverse."""
    query_len, key_len = seen.shape
    if seen.all():
        return "every query sees the whole future", ("mask-dropped", "causal-alignment")
    if (seen == np.tri(query_len, key_len, 1, dtype=np.bool_)).all():
        return "query i sees key i + 1: one step of the future", ("causal-alignment",)
    if (seen == np.tri(query_len, key_len, -1, dtype=np.bool_)).all():
        return "query i does not see key i: the mask starts one step early", ("causal-alignment",)
    if (seen == ~np.tri(query_len, key_len, -1, dtype=np.bool_)).all() or (seen == ~right).all():
        return "each query sees the future and not the past", ("causal-alignment", "mask-polarity")
    future = np.argwhere(seen & ~right)
    if len(future):
        query, key = future[0]
        return f"query {query} sees key {key}, which is its future", (NAME, "mask-value")
    query, key = np.argwhere(~seen & right)[0]
    return f"query {query} does not see key {key}, which is its past", (NAME, "mask-axis")


def _seen(exam: Examination, inputs: Inputs) -> Rows:
    """Which key moves which query, (query, key): by weights, else by moving one key at a time."""
    answer = ask(exam, inputs)
    if answer.weights is not None:
        return np.asarray((np.abs(np.nan_to_num(answer.weights)) > 1e-6).any((0, 1)))
    require(answer.context is not None, "the code gives neither weights nor context")
    assert answer.context is not None
    self_attention = is_self_attention(exam, inputs)
    columns = []
    for key in range(inputs.keys.shape[1]):
        moved = ask(exam, _moved(inputs, key)).context
        assert moved is not None
        rows = [differs(answer.context[:, i], moved[:, i]) for i in range(moved.shape[1])]
        if self_attention:
            rows[key] = True  # as a query it moves its own row anyhow
        columns.append(rows)
    return np.array(columns).T


def _moved(inputs: Inputs, position: int) -> Inputs:
    def of(array: Array | None, seed: int) -> Array | None:
        if array is None:
            return None
        array = array.copy()
        array[:, position] = fresh(array[:, position], seed)
        return array

    if inputs.key is None:
        query = of(inputs.query, 10)
        assert query is not None
        return inputs.with_(query=query, value=of(inputs.value, 11))
    return inputs.with_(key=of(inputs.key, 10), value=of(inputs.value, 11))


CHECKS = (check(NAME, "no query sees the future, and each sees its own position", _alignment),)
