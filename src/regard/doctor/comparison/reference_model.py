"""Attention in five replaceable stages, NumPy float64: what the examined code is compared with.

    split, score, hide, normalize, weigh

A known fault is one stage replaced by another (see `variants`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.doctor.tracing.dependence import Array

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Parts:
    """What goes into the stages: projected where the code projects, all (batch, len, width)."""

    query: Array
    key: Array
    value: Array
    raw_query: Array
    raw_key: Array
    raw_value: Array
    num_heads: int = 1
    vector: Array | None = None  # v of the additive score
    bilinear: Array | None = None  # W of a general score given as (query_dim, key_dim)
    may_attend: Bools | None = None  # (batch, query_len, key_len)
    swapped: tuple[Array, Array] | None = None  # query and key, each by the other's matrix
    output: tuple[Array, Array | None] | None = None  # the matrix and bias after the heads
    other_queries: dict[str, Array] = field(default_factory=dict)  # other states, by what they are

    def with_(self, **changes: Any) -> "Parts":
        return replace(self, **changes)

    @property
    def head_dim(self) -> int:
        return self.query.shape[-1] // self.num_heads

    @property
    def key_heads(self) -> int:
        """Heads of the keys: fewer than the queries' where groups of those share one."""
        return self._heads_of(self.key.shape[-1])

    @property
    def value_heads(self) -> int:
        return self.key_heads if self.key_heads < self.num_heads else self.num_heads

    def _heads_of(self, width: int) -> int:
        heads = width // self.head_dim if width % self.head_dim == 0 else 0
        fewer = 0 < heads < self.num_heads and self.num_heads % heads == 0
        return heads if fewer else self.num_heads

    def shared(self, x: Array, share: Callable[[Array, int], Array]) -> Array:
        """Key or value heads given out to the query heads."""
        times, rest = divmod(self.num_heads, x.shape[1])
        return x if times == 1 or rest else share(x, times)


def split_heads(x: Array, num_heads: int) -> Array:
    """(batch, len, heads * dim) to (batch, heads, len, dim)."""
    batch, length, width = x.shape
    return x.reshape(batch, length, num_heads, width // num_heads).transpose(0, 2, 1, 3)


def by_group(x: Array, times: int) -> Array:
    """Key head g serves the query heads g·times to g·times + times - 1."""
    return x.repeat(times, axis=1)


def merge_heads(context: Array) -> Array:
    """(batch, heads, len, dim) to (batch, len, heads * dim)."""
    batch, heads, length, dim = context.shape
    return context.transpose(0, 2, 1, 3).reshape(batch, length, heads * dim)


def dot(parts: Parts, query: Array, key: Array) -> Array:
    """q·k."""
    return query @ key.swapaxes(-1, -2)


def general(parts: Parts, query: Array, key: Array) -> Array:
    """q W k, W as it was given."""
    assert parts.bilinear is not None
    return query @ parts.bilinear @ key.swapaxes(-1, -2)


def pairs(query: Array, key: Array) -> Array:
    """Every query plus every key: (batch, heads, query_len, key_len, dim)."""
    return query[..., :, None, :] + key[..., None, :, :]


def contract(parts: Parts, energy: Array) -> Array:
    """v·energy over the last axis, v per head where it is long enough."""
    vector = parts.vector
    assert vector is not None
    if vector.size == energy.shape[-1]:
        return energy @ vector
    return np.einsum("bhqkd,hd->bhqk", energy, vector.reshape(parts.num_heads, -1))


def additive(parts: Parts, query: Array, key: Array) -> Array:
    """v·tanh(q + k)."""
    return contract(parts, np.tanh(pairs(query, key)))


def additive_relu(parts: Parts, query: Array, key: Array) -> Array:
    """v·relu(q + k), where the code says that it wants it."""
    return contract(parts, relu(pairs(query, key)))


def softmax(scores: Array, axis: int | tuple[int, ...] = -1) -> Array:
    """Over the keys by default; 0 where nothing is visible."""
    top = scores.max(axis=axis, keepdims=True)
    shifted = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = shifted.sum(axis=axis, keepdims=True)
    return np.asarray(shifted / np.where(total == 0, 1.0, total))


def softmax_without_care(scores: Array) -> Array:
    """Over the keys; NaN where nothing is visible."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def relu(x: Array) -> Array:
    """Negative numbers cut to 0."""
    return np.maximum(x, 0.0)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np.exp(-np.clip(x, -500, 500)))


def hide(scores: Array, may_attend: Bools) -> Array:
    """-inf where the query may not look."""
    return np.where(may_attend[:, None], scores, -np.inf)


def hide_finitely(scores: Array, may_attend: Bools) -> Array:
    """A large negative number where the query may not look: a row without keys is uniform."""
    return np.where(may_attend[:, None], scores, -1e30)


def keep_all(weights: Array, may_attend: Bools) -> Array:
    """The weights as they are."""
    return weights


def weigh(parts: Parts, weights: Array, value: Array) -> Array:
    """The weighted average of the values."""
    return weights @ value


@dataclass(frozen=True)
class Stages:
    """One attention, stage by stage."""

    score: Callable[[Parts, Array, Array], Array]
    scale: float = 1.0
    split_query: Callable[[Array, int], Array] = split_heads
    split_key: Callable[[Array, int], Array] = split_heads
    split_value: Callable[[Array, int], Array] = split_heads
    share: Callable[[Array, int], Array] = by_group
    hide: Callable[[Array, Bools], Array] = hide
    normalize: Callable[[Array], Array] = softmax
    after: Callable[[Array, Bools], Array] = keep_all
    weigh: Callable[[Parts, Array, Array], Array] = weigh
    merge: Callable[[Array], Array] = merge_heads
    prepare: Callable[[Parts], Parts] | None = None

    def with_(self, **changes: Any) -> "Stages":
        return replace(self, **changes)


@dataclass(frozen=True)
class Outcome:
    """What the stages give."""

    weights: Array  # (batch, heads, query_len, key_len)
    context: Array  # (batch, query_len, any), before the output projection
    output: Array  # after it


class Model:
    """The stages run on one set of parts. What several stages share is computed once."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._kept: dict[tuple[Any, ...], Any] = {}

    def _once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def prepared(self, stages: Stages) -> Parts:
        """What goes into the stages."""
        if stages.prepare is None:
            return self.parts
        prepare = stages.prepare
        made: Parts = self._once(("parts", prepare), lambda: prepare(self.parts))
        return made

    def _scores_key(self, stages: Stages) -> tuple[Any, ...]:
        return (stages.prepare, stages.split_query, stages.split_key, stages.score)

    def scores(self, stages: Stages) -> Array:
        """Before the scale and the mask."""
        parts = self.prepared(stages)

        def make() -> Array:
            query = stages.split_query(parts.query, parts.num_heads)
            key = parts.shared(stages.split_key(parts.key, parts.key_heads), stages.share)
            with np.errstate(all="ignore"):
                return stages.score(parts, query, key)

        made: Array = self._once(("scores", stages.share, *self._scores_key(stages)), make)
        return made

    def weights(self, stages: Stages) -> Array:
        """(batch, heads, query_len, key_len)."""

        def make() -> Array:
            parts = self.prepared(stages)
            with np.errstate(all="ignore"):
                scores = self.scores(stages) * stages.scale
                if parts.may_attend is not None:
                    scores = stages.hide(scores, parts.may_attend)
                weights = stages.normalize(scores)
                if parts.may_attend is not None:
                    weights = stages.after(weights, parts.may_attend)
            return weights

        how = (stages.share, stages.scale, stages.hide, stages.normalize, stages.after)
        made: Array = self._once(("weights", *how, *self._scores_key(stages)), make)
        return made

    def run(self, stages: Stages) -> Outcome:
        """All stages in order. Raises ValueError where a variant does not fit the sizes."""
        parts, weights = self.prepared(stages), self.weights(stages)
        with np.errstate(all="ignore"):
            value = parts.shared(stages.split_value(parts.value, parts.value_heads), stages.share)
            context = stages.weigh(parts, weights, value)
            context = stages.merge(context) if context.ndim == 4 else context
            output = context
            if parts.output is not None:
                matrix, bias = parts.output
                if matrix.shape[0] == context.shape[-1]:
                    output = context @ matrix + (0.0 if bias is None else bias)
        return Outcome(weights, context, output)
