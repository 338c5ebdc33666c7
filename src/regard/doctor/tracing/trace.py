"""What the code did: one event per operation, with its line, shapes, values and origins."""

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from regard.doctor.findings import Place


@dataclass(frozen=True)
class Operand:
    """One array that went into or came out of an operation.

    `origins` are the roles (query, key, value, mask, a parameter's name ...) whose numbers it
    depends on; `identity` is the same for the same array in several events; `value` is a copy.
    """

    identity: int
    shape: tuple[int, ...]
    origins: frozenset[str]
    value: NDArray[Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Event:
    """One operation of the examined code, at one line of its file.

    `op` is the plain name: softmax, matmul, bmm, einsum, linear, tanh, masked_fill, where, add,
    mul, div, view, reshape, transpose, permute, squeeze, unsqueeze, expand, repeat, cat, sum ...
    whichever spelling the code used (`@`, `torch.matmul` and `Tensor.matmul` are matmul).
    `settings` holds what is not an array: dim, axis, equation, fill value, shape asked for.
    """

    op: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    place: Place | None = None


@dataclass(frozen=True)
class Trace:
    """The events of one call, in order; `returned` are the identities of the arrays it gave."""

    events: tuple[Event, ...] = ()
    returned: frozenset[int] = frozenset()
