"""The sizes, the input and the answer of one question put to the examined code.

Everything here is in one canonical form, NumPy float64 and batch first, whatever the examined
code takes: the binding translates.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.doctor.tracing.trace import Trace

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """One size per axis. The defaults differ on every axis, so that no two can be confused.

    A size that the code forces to equal another (`query_dim` and `key_dim` of a dot product) is
    set equal by the binding.
    """

    batch: int = 3
    query_len: int = 5
    key_len: int = 7
    query_dim: int = 11
    key_dim: int = 13
    value_dim: int = 17
    attn_dim: int = 19
    num_heads: int = 2
    embed_dim: int = 23
    vocab: int = 29

    def with_(self, **sizes: int) -> "Sizes":
        return replace(self, **sizes)


@dataclass(frozen=True)
class Inputs:
    """Canonical input. `value` is None where the code takes keys as values.

    For self-attention `query` is the one sequence and `key` is None. `may_attend` is the truth
    that the code's own mask arguments are to express; `causal` says that the code was asked for
    (or always applies) a causal mask besides.
    """

    query: Array  # (batch, query_len, query_dim)
    key: Array | None = None  # (batch, key_len, key_dim)
    value: Array | None = None  # (batch, key_len, value_dim)
    lengths: tuple[int, ...] | None = None
    may_attend: NDArray[np.bool_] | None = None  # (batch, query_len, key_len)
    causal: bool = False
    extra: dict[str, Any] = field(default_factory=dict)  # a role's own array, by role

    def with_(self, **changes: Any) -> "Inputs":
        return replace(self, **changes)

    @property
    def keys(self) -> Array:
        """The sequence that is compared: `key`, or the one sequence of self-attention."""
        return self.query if self.key is None else self.key

    @property
    def values(self) -> Array:
        """The sequence that is averaged."""
        return self.keys if self.value is None else self.value


@dataclass(frozen=True)
class Failure:
    """The code raised. `file`, `line` and `code` are the last place inside the user's own file."""

    kind: str
    message: str
    file: str = ""
    line: int = 0
    code: str = ""

    @property
    def first_line(self) -> str:
        """The first line of its message."""
        return next(iter(self.message.strip().splitlines()), "it raises")

    @property
    def said(self) -> str:
        """Its kind and what it says, on one line."""
        return f"{self.kind}: {self.first_line}" if self.message.strip() else self.kind

    @property
    def refuses(self) -> bool:
        """Whether the code itself raised it, by `raise` or `assert`."""
        return self.code.startswith(("assert ", "raise ", "assert(", "raise("))


@dataclass(frozen=True)
class Answer:
    """What the code gave, in canonical form; a part that it does not give is None.

    `context` (batch, query_len, any), `weights` (batch, heads or 1, query_len, key_len);
    `raw` is what it returned. With `failure`, all three are None.
    """

    context: Array | None = None
    weights: Array | None = None
    raw: Any = None
    failure: Failure | None = None
    trace: Trace = field(default_factory=Trace)
    gradients: dict[str, Array] = field(default_factory=dict)  # by role or by parameter's name
    changed: tuple[str, ...] = ()  # roles whose arrays the call changed in place
