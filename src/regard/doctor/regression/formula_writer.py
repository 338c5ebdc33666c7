"""The right numbers as source text: a few lines of NumPy over the code's own parameters."""

from collections.abc import Mapping

import numpy as np

from regard.doctor.comparison.anatomy import Anatomy
from regard.doctor.comparison.roles_of_parameters import Projection
from regard.doctor.probe import Array
from regard.doctor.regression.call_writer import CannotWrite

EXPECTED = '''\
def expected(given, code):
    """Context and weights by definition, in float64."""
    p = {numbers}
    query, key, value = {inputs}
{lines}
    return context, weights'''


class FormulaWriter:
    """Writes `expected` for one anatomy.

    `scale` is the right one, `general` says that a matrix W given as an argument compares query
    and key as q W k.
    """

    def __init__(
        self,
        anatomy: Anatomy,
        parameters: Mapping[str, Array],
        *,
        additive: bool,
        scale: float,
        general: bool,
        causal: bool,
        has_value: bool,
        has_code: bool,
    ) -> None:
        self.anatomy, self.parts, self.parameters = anatomy, anatomy.parts, parameters
        self.additive, self.scale, self.general = additive, scale, general
        self.causal, self.has_value, self.has_code = causal, has_value, has_code

    def text(self, averaged: bool) -> str:
        """The function; `averaged` says that the code gives one weighting for all heads."""
        lines = [*self._projected(), *self._scored(), *self._weighed(averaged)]
        p = "named_numbers(code)" if self.has_code else "parameters()"
        key = 'given["query"]' if self.anatomy.is_self else 'given["key"]'
        value = 'given["value"]' if self.has_value else key
        inputs = f'given["query"], {key}, {value}'
        return EXPECTED.format(
            numbers=p, inputs=inputs, lines="\n".join(f"    {line}" for line in lines)
        )

    def _projected(self) -> list[str]:
        found = self.anatomy.projections
        roles = ("query", "key", "value")
        given = {role: found.get(role) for role in roles}
        shared = {p.parameter for p in given.values() if p is not None}
        cuts = self._width() * 3
        joint = given["query"]
        if joint is not None and len(shared) == 1 and joint.matrix.shape[1] == cuts:
            return [f"query, key, value = np.split({self._projection('query', joint)}, 3, -1)"]
        if not found.get("query") and not found.get("key") and self.additive:
            return [*self._concatenated(), *self._one("value", given["value"])]
        return [line for role in roles for line in self._one(role, given[role])]

    def _width(self) -> int:
        return int(self.parts.query.shape[-1])

    def _one(self, role: str, found: Projection | None) -> list[str]:
        return [] if found is None else [f"{role} = {self._projection(role, found)}"]

    def _projection(self, role: str, found: Projection) -> str:
        weight = self.parameters.get(found.parameter)
        if weight is None or weight.ndim != 2:
            raise CannotWrite(f"{found.parameter} is no matrix")
        name = f'p["{found.parameter}"]'
        if self.general and weight.shape[0] == weight.shape[1]:
            turned = role != "query"
        elif weight.shape == found.matrix.shape and _close(weight, found.matrix):
            turned = False
        elif weight.T.shape == found.matrix.shape and _close(weight.T, found.matrix):
            turned = True
        else:
            raise CannotWrite(f"{found.parameter} is used in parts")
        return f"{role} @ {name}{'.T' if turned else ''}{self._bias(found.bias)}"

    def _bias(self, bias: Array | None) -> str:
        if bias is None:
            return ""
        for name, array in self.parameters.items():
            if array.size == bias.size and _close(array.reshape(-1), bias):
                return f' + p["{name}"]'
        raise CannotWrite("a bias that is no parameter")

    def _concatenated(self) -> list[str]:
        """W of [query; key], in two parts."""
        query_dim = self.parts.raw_query.shape[-1]
        both = query_dim + self.parts.raw_key.shape[-1]
        for name, weight in self.parameters.items():
            if weight.ndim == 2 and both in weight.shape:
                turn = ".T" if weight.shape[1] == both else ""
                matrix = weight.T if turn else weight
                left = self.parts.raw_query @ matrix[:query_dim]
                rest = self.parts.query - left
                bias = (
                    ""
                    if _close(rest, 0 * rest)
                    else self._bias(rest.reshape(-1, rest.shape[-1])[0])
                )
                return [
                    f'query, key = query @ p["{name}"]{turn}[:{query_dim}]{bias}, '
                    f'key @ p["{name}"]{turn}[{query_dim}:]'
                ]
        raise CannotWrite("no projections are seen")

    def _scored(self) -> list[str]:
        heads = self.parts.num_heads
        lines = []
        if heads > 1:
            lines.append(f"query, key, value = (split(x, {heads}) for x in (query, key, value))")
        if self.additive:
            lines.append(f"energy = np.tanh({_wide('query', -2)} + {_wide('key', -3)})")
            lines.append(f"scores = energy @ {self._vector()}  # v · tanh(W s + U h)")
        else:
            by = "" if self.scale == 1.0 else f" * {self._scale()}"
            lines.append(f"scores = query @ key.swapaxes(-1, -2){by}")
        if self.causal:
            if self.parts.raw_query.shape[1] != self.parts.raw_key.shape[1]:
                raise CannotWrite("a causal mask over two lengths")
            lines.append("past = np.tri(*scores.shape[-2:], dtype=bool)")
            lines.append("scores = np.where(past, scores, -np.inf)")
        lines.append('if given["may_attend"] is not None:')
        cut = "[:, None]" if heads > 1 else ""
        lines.append(f'    scores = np.where(given["may_attend"]{cut}, scores, -np.inf)')
        return lines

    def _scale(self) -> str:
        width = self.parts.head_dim
        return f"{width} ** -0.5" if np.isclose(self.scale, width**-0.5) else repr(self.scale)

    def _vector(self) -> str:
        vector = self.parts.vector
        if vector is None or vector.size != self.parts.head_dim:
            raise CannotWrite("v is not one vector for all heads")
        for name, array in self.parameters.items():
            if array.size == vector.size and _close(array.reshape(-1), vector):
                return f'p["{name}"].reshape(-1)'
        raise CannotWrite("v is no parameter")

    def _weighed(self, averaged: bool) -> list[str]:
        lines = [
            "weights = np.exp(scores - scores.max(-1, keepdims=True))",
            "weights = weights / weights.sum(-1, keepdims=True)",
            "context = weights @ value",
        ]
        if self.parts.num_heads > 1:
            lines.append("context = context.swapaxes(1, 2).reshape(*context.shape[::2], -1)")
            if averaged:
                lines.append("weights = weights.mean(1)")
        output = self.anatomy.projections.get("output")
        if output is not None:
            lines.append(f"context = {self._projection('context', output)}")
        return lines


def _wide(name: str, axis: int) -> str:
    return f"{name}[..., :, None, :]" if axis == -2 else f"{name}[..., None, :, :]"


def _close(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, atol=1e-6))
