"""What goes into the stages: each sequence by the projection that the code gives it."""

import re
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from regard.doctor.comparison.reference_model import Parts
from regard.doctor.comparison.roles_of_parameters import Projection, vectors
from regard.doctor.comparison.states import States, follows
from regard.doctor.examination import Examination
from regard.doctor.probe import Inputs
from regard.doctor.tracing.dependence import Array, of_parameters, upstream
from regard.doctor.tracing.locate import score_products
from regard.doctor.tracing.trace import Operand, Trace

_QUERY_NAME = re.compile(
    r"(^|[._])(w_?)?(q|query|queries|qry|theta)([._]|_?proj|_?lin|_?layer|_?w|$)", re.I
)
_KEY_NAME = re.compile(
    r"(^|[._])(w_?)?(k|key|keys|memory|enc|encoder)([._]|_?proj|_?lin|_?layer|_?w|$)", re.I
)


def arranged(value: Array, shape: tuple[int, ...]) -> Array | None:
    """The array with its axes put in this order, by their sizes; None where they do not fit."""
    array = np.asarray(value, np.float64)
    if array.size != int(np.prod(shape)):
        return None
    wanted = [size for size in shape if size != 1]
    squeezed = array.reshape([size for size in array.shape if size != 1])
    if squeezed.ndim == len(wanted):
        for order in permutations(range(squeezed.ndim)):
            if [squeezed.shape[axis] for axis in order] == wanted:
                return squeezed.transpose(order).reshape(shape)
    if array.ndim == 2 and array.shape[-1] == shape[-1]:
        return array.reshape(shape)
    return None


def query_and_key(
    found: list[Projection], is_self: bool
) -> tuple[Projection | None, Projection | None]:
    """Which projection is the query's and which the keys': by what they read, then by name."""
    if is_self:
        return _by_name(found)
    queries = [p for p in found if not p.data.origins & {"key", "value"}]
    keys = [p for p in found if p.data.origins & {"key", "value"} and "query" not in p.data.origins]
    query, key = (queries[-1] if queries else None), (keys[-1] if keys else None)
    several = {p.parameter for p in (*queries, *keys)}
    if (query is None or key is None) and len(several) == 2:
        return _by_name(queries or keys)  # both read one sequence, and were meant for two
    return query, key


def _by_name(found: list[Projection]) -> tuple[Projection | None, Projection | None]:
    if len(found) < 2:
        return (found[0], found[0]) if found else (None, None)
    query = next((p for p in found if _QUERY_NAME.search(p.parameter)), None)
    key = next((p for p in found if _KEY_NAME.search(p.parameter) and p is not query), None)
    rest = [p for p in found if p is not query and p is not key]
    query = query or rest.pop(0)
    return query, key or (rest.pop(0) if rest else query)


@dataclass(frozen=True)
class Wiring:
    """The projections by role, and what they are read with."""

    exam: Examination
    inputs: Inputs
    trace: Trace
    names: frozenset[str]  # of the parameters
    query: Projection | None
    key: Projection | None
    value: Projection | None
    states: States | None  # of a recurrent step that makes the query

    def parts(self, joint: list[int]) -> Parts | None:
        """`joint` are the events at which query and keys meet; None where the widths do not fit."""
        if self._concatenates():
            return self._of_pairs()
        raw_query = self._raw_query()
        query = self._apply(self.query, raw_query, "query")
        key = self._apply(self.key, self.inputs.keys, "key")
        value = self._apply(self.value, self.inputs.values, "value")
        if query is None or key is None or value is None:
            return None
        query, key, value = self._cut(query, key, value)
        parts = self._with(query, key, value, raw_query)
        swapped = None if self._is_self() else self._swapped(raw_query)
        parts = parts.with_(swapped=swapped)
        return self._with_vector(self._with_joint(parts, joint))

    def _with(self, query: Array, key: Array, value: Array, raw_query: Array) -> Parts:
        others = {} if self.states is None else self.states.others
        return Parts(
            query,
            key,
            value,
            raw_query,
            self.inputs.keys,
            self.inputs.values,
            num_heads=max(self.exam.num_heads, 1),
            other_queries={
                said: state if self.query is None else self.query.of(state)
                for said, state in others.items()
                if self.query is None or state.shape[-1] == self.query.matrix.shape[0]
            },
        )

    def _swapped(self, raw_query: Array) -> tuple[Array, Array] | None:
        """Query and keys, each by the other's matrix."""
        if self.query is None or self.key is None:
            return None
        if self.query.matrix.shape != self.key.matrix.shape:
            return None
        return self.key.of(raw_query), self.query.of(self.inputs.keys)

    def _made_inside(self) -> bool:
        """Whether the query is a state that a recurrent step of this call made."""
        if self.states is None:
            return False
        if self.query is not None:
            same = self.query.matrix.shape[0] == self.states.output.shape[-1]
            return same and follows(self.trace, self.states, self.query.data.identity)
        met = [o for product in score_products(self.trace) for o in product.operands]
        queries = [o for o in met if not o.origins & {"key", "value"} and o.origins - self.names]
        return bool(queries) and follows(self.trace, self.states, queries[0].identity)

    def _raw_query(self) -> Array:
        if self._made_inside() and self.states is not None:
            return self.states.output
        return self.inputs.query

    def _apply(self, found: Projection | None, raw: Array, role: str) -> Array | None:
        if found is None:
            return raw
        width = found.matrix.shape[0]
        misread = (
            role == "key" and not self._is_self() and not found.data.origins & {"key", "value"}
        )
        if role == "query" and self.query is not None and not self._is_self():
            misread = bool(found.data.origins & {"key", "value"}) or self._made_inside()
        if misread:
            return found.of(raw) if raw.shape[-1] == width else None
        source = self._source(found.data, role, width)
        return None if source is None else found.of(source)

    def _is_self(self) -> bool:
        return self.inputs.key is None

    def _source(self, data: Operand, role: str, width: int) -> Array | None:
        """What a projection reads: the raw input where the numbers are its own, or as traced."""
        inputs = self.inputs
        raws = {"query": inputs.query, "key": inputs.keys, "value": inputs.values}
        few = np.asarray(data.value, np.float64).reshape(-1)[:60]
        for name in (role, "key", "query", "value"):
            raw = raws[name]
            if raw.shape[-1] != width or np.ptp(few) == 0:
                continue
            if np.abs(raw.reshape(-1)[None] - few[:, None]).min(axis=1).max() < 1e-5:
                return raw
        length = inputs.query.shape[1] if role == "query" else inputs.keys.shape[1]
        return arranged(data.value, (inputs.query.shape[0], length, width))

    def _cut(self, query: Array, key: Array, value: Array) -> tuple[Array, Array, Array]:
        """One projection for two or three roles gives each its part of the columns."""
        if self.key is None or self.key is not self.value:
            return query, key, value
        if self._is_self() and self.query is self.key:
            if query.shape[-1] % 3 == 0:
                query, key, value = np.split(query, 3, -1)
        elif key.shape[-1] == 2 * query.shape[-1]:
            key, value = np.split(key, 2, -1)
        return query, key, value

    def _concatenates(self) -> bool:
        """Whether the one matrix takes [query; key]: joined wrongly, it still has both widths."""
        both = self.inputs.query.shape[-1] + self.inputs.keys.shape[-1]
        only = self.key if self.query is None else self.query if self.key is None else None
        if only is None or self._is_self():
            return False
        return self.exam.score == "concat" and only.matrix.shape[0] == both

    def _of_pairs(self) -> Parts | None:
        only = self.key or self.query
        assert only is not None
        width = self.inputs.query.shape[-1]
        value = self._apply(self.value, self.inputs.values, "value")
        if value is None:
            return None
        bias = 0.0 if only.bias is None else only.bias
        upper, lower = only.matrix[:width], only.matrix[width:]
        query, keys = self.inputs.query, self.inputs.keys
        parts = self._with(query @ upper + bias, keys @ lower, value, query)
        if upper.shape == lower.shape:
            parts = parts.with_(swapped=(query @ lower, keys @ upper + bias))
        return self._with_vector(parts)

    def _with_joint(self, parts: Parts, joint: list[int]) -> Parts:
        """Adds what meets query and key together: the matrix of concat, of general."""
        query_dim, key_dim = parts.query.shape[-1], parts.key.shape[-1]
        for index in joint:
            event = self.trace.events[index]
            for operand in event.inputs:
                if not of_parameters(operand, self.names) or operand.value.ndim != 2:
                    continue
                weight = np.asarray(operand.value, np.float64)
                if self.query is None and self.key is None and query_dim + key_dim in weight.shape:
                    matrix = weight.T if weight.shape[1] == query_dim + key_dim else weight
                    biases = [
                        np.asarray(o.value, np.float64)
                        for o in event.inputs
                        if of_parameters(o, self.names) and o.value.ndim == 1
                    ]
                    upper, lower = matrix[:query_dim], matrix[query_dim:]
                    if self._keys_first(index):
                        upper, lower = matrix[key_dim:], matrix[:key_dim]
                    bias = biases[0] if biases else 0.0
                    parts = parts.with_(query=parts.query @ upper + bias, key=parts.key @ lower)
                    if upper.shape == lower.shape:
                        swapped = (parts.raw_query @ lower, parts.raw_key @ upper + bias)
                        parts = parts.with_(swapped=swapped)
                elif len(event.inputs) == 3 and set(weight.shape) == {query_dim, key_dim}:
                    matrix = weight if weight.shape[0] == query_dim else weight.T
                    parts = parts.with_(query=parts.query @ matrix)
        return parts

    def _keys_first(self, end: int) -> bool:
        """Whether the pair is written [key; query]."""
        needed = upstream(self.trace, (o.identity for o in self.trace.events[end].inputs), end)
        for event in reversed(self.trace.events[:end]):
            made = any(o.identity in needed for o in event.outputs)
            if made and event.op == "cat" and len(event.inputs) == 2:
                first, second = event.inputs
                return "key" in first.origins and "key" not in second.origins
        return False

    def _with_vector(self, parts: Parts) -> Parts:
        width = parts.query.shape[-1]
        for _, operand in vectors(self.trace, self.names, width, parts.num_heads):
            return parts.with_(vector=np.asarray(operand.value, np.float64).reshape(-1))
        return parts


def other_cuts(parts: Parts) -> list[Parts]:
    """Other rightful orders of the columns of a joint projection: head by head, or by threes."""
    heads, joined = parts.num_heads, np.concatenate([parts.query, parts.key, parts.value], -1)
    batch, length, width = joined.shape
    dim = width // 3 // heads
    found = []
    for shape, axis in (((heads, 3, dim), 3), ((heads, dim, 3), 4), ((dim, heads, 3), 4)):
        thirds = np.moveaxis(joined.reshape(batch, length, *shape), axis, 0)
        if shape[0] == dim:
            thirds = thirds.swapaxes(-1, -2)
        query, key, value = (third.reshape(batch, length, heads * dim) for third in thirds)
        found.append(parts.with_(query=query, key=key, value=value))
    return found
