"""One place in a model where attention happens, and what it did there."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Call:
    """One attention: everything that one query, or one block of queries, saw."""

    weights: Float[Tensor, "batch heads query key"]
    """After normalizing and any edit, before dropout."""
    visible: Bool[Tensor, "batch heads query key"]
    """What could be attended to."""
    scores: Float[Tensor, "batch heads query key"] | None = None
    """Before normalizing, -inf where hidden; kept on request."""
    value: Float[Tensor, "batch heads key value_dim"] | None = None
    """What was averaged; kept on request."""

    def rows(self, parents: Tensor) -> Call:
        """Of some of the examples, in this order."""
        return Call(
            *(
                None if part is None else part.index_select(0, parents)
                for part in (self.weights, self.visible, self.scores, self.value)
            )  # type: ignore[arg-type]
        )


@dataclass
class Run:
    """The calls that make one sequence of queries: one block, or a decoder's steps in order."""

    calls: list[Call] = field(default_factory=list)

    @property
    def weights(self) -> Float[Tensor, "batch heads query key"]:
        """All queries, with weight 0 on keys that were not there yet."""
        return self._joined([call.weights for call in self.calls], 0.0)

    @property
    def scores(self) -> Float[Tensor, "batch heads query key"] | None:
        """All queries, with -inf for keys that were not there yet; None if not kept."""
        parts = [call.scores for call in self.calls if call.scores is not None]
        return self._joined(parts, -torch.inf) if parts else None

    @property
    def visible(self) -> Bool[Tensor, "batch heads query key"]:
        """What each query could attend to."""
        return self._joined([call.visible for call in self.calls], False)

    @property
    def value(self) -> Float[Tensor, "batch heads key value_dim"] | None:
        """What the last query averaged; None if not kept."""
        return self.calls[-1].value

    @property
    def num_queries(self) -> int:
        """Queries so far."""
        return sum(call.weights.shape[2] for call in self.calls)

    def reorder(self, parents: Tensor) -> None:
        """Let every example's past be that of its parent."""
        self.calls = [call.rows(parents) for call in self.calls]

    def _joined(self, parts: Sequence[Tensor], nothing: float | bool) -> Tensor:
        key_len = parts[-1].shape[-1]
        padded = [
            torch.nn.functional.pad(part, (0, key_len - part.shape[-1]), value=nothing)
            for part in parts
        ]
        return padded[0] if len(padded) == 1 else torch.cat(padded, dim=2)


@dataclass
class Site:
    """One place in a model where attention happens.

    ``site.weights`` (batch, heads, query, key) are what was weighted there, before dropout: rows
    sum to 1, or to 0 where there was nothing to attend to; to less where a model has a sink, a
    score that belongs to no key. A site without heads has one. A model that was run several times
    has several ``runs``.
    """

    name: str
    runs: list[Run] = field(default_factory=list)
    query_tokens: list[list[str]] | None = None
    """What the queries stand for, a list for each example."""
    key_tokens: list[list[str]] | None = None
    """What the keys stand for, a list for each example."""

    @property
    def weights(self) -> Float[Tensor, "batch heads query key"]:
        """Of the only run."""
        return self.run.weights

    @property
    def scores(self) -> Float[Tensor, "batch heads query key"] | None:
        """Of the only run; None if not kept."""
        return self.run.scores

    @property
    def visible(self) -> Bool[Tensor, "batch heads query key"]:
        """What could be attended to, in the only run."""
        return self.run.visible

    @property
    def value(self) -> Float[Tensor, "batch heads key value_dim"] | None:
        """What was averaged in the only run; None if not kept."""
        return self.run.value

    @property
    def run(self) -> Run:
        """The only run.

        Raises:
            ValueError: there are several, or none.
        """
        if len(self.runs) != 1:
            raise ValueError(
                f"site {self.name!r} has {len(self.runs)} runs. Its weights are those of one run. "
                f"Take one, trace[{self.name!r}].runs[i].weights, or record one run at a time."
            )
        return self.runs[0]

    @property
    def num_heads(self) -> int:
        """Heads of this site."""
        return self.runs[0].calls[0].weights.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """In which the weights were computed."""
        return self.runs[0].calls[0].weights.dtype

    def __getitem__(self, index: Any) -> Tensor:
        """A slice of the weights: ``site[0, :, -1]`` is the last query of the first example."""
        return self.weights[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def select(
        self, examples: Sequence[int] | None = None, heads: Sequence[int] | None = None
    ) -> Site:
        """The same site with some of its examples and heads only, in this order.

        Raises:
            TypeError: no lists of places.
            IndexError: one is not there.
        """
        examples = None if examples is None else _places("examples", examples)
        heads = None if heads is None else _places("heads", heads)
        for run in self.runs:
            shape = run.calls[0].weights.shape
            _check_there(self.name, "examples", examples or [], shape[0])
            _check_there(self.name, "heads", heads or [], shape[1])
        runs = [Run([_select(call, examples, heads) for call in run.calls]) for run in self.runs]
        tokens: list[list[list[str]] | None] = [
            part if part is None or examples is None else [part[index] for index in examples]
            for part in (self.query_tokens, self.key_tokens)
        ]
        return replace(self, runs=runs, query_tokens=tokens[0], key_tokens=tokens[1])


def _places(what: str, given: Sequence[int]) -> list[int]:
    try:
        listed = list(given)
        if any(isinstance(place, bool) for place in listed):
            raise TypeError
        return [operator.index(place) for place in listed]
    except TypeError:
        raise TypeError(
            f"select: {what}={given!r}. It must be a list of whole numbers. Write {what}=[0, 2]."
        ) from None


def _check_there(site: str, what: str, places: Sequence[int], num: int) -> None:
    if absent := [place for place in places if not -num <= place < num]:
        raise IndexError(
            f"select: {what} {absent} of site {site!r}, which has {num}. Give places from 0 to "
            f"{num - 1}."
        )


def _select(call: Call, examples: Sequence[int] | None, heads: Sequence[int] | None) -> Call:
    def chosen(part: Tensor | None) -> Any:
        if part is None:
            return None
        part = part if examples is None else part[list(examples)]
        return part if heads is None else part[:, list(heads)]

    return Call(*(chosen(part) for part in (call.weights, call.visible, call.scores, call.value)))
