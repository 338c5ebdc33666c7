"""Which argument of the examined code plays which role, in which shape."""

from dataclasses import dataclass, field
from typing import Any

from regard.doctor.probe import Sizes

SEQUENCES = ("query", "key", "value")
ROLES = (*SEQUENCES, "mask", "lengths", "causal", "token", "cell", "feed", "parameter", "setting")


@dataclass(frozen=True)
class Slot:
    """One argument, of the call or of the constructor.

    `axes` are letters: B batch, T the sequence's own length, Q queries, K keys, D channels, H
    heads, 1 an axis of size 1. A parameter's are names of sizes instead, in `dims`.
    """

    name: str
    role: str
    axes: str = ""
    dims: tuple[str, ...] = ()
    value: Any = None  # a setting's own value
    required: bool = True
    in_init: bool = False
    guessed: bool = False  # its name says nothing: the role is the one that was left
    stated: bool = False  # the role was told


@dataclass(frozen=True)
class MaskForm:
    """How a mask is written: bool, 0/1 in bytes, ints or floats, or a bias that is added."""

    axes: str
    dtype: str = "bool"  # "bool", "uint8", "int", "float" or "bias"
    attends: bool = True  # True (1) may attend


@dataclass(frozen=True)
class OutputForm:
    """The n-th array of the answer: its role and axes (`context` BQD, `weights` BHQK ...).

    `scores`: these weights are not normalized yet, and are not meant to be.
    """

    label: str
    role: str
    axes: str
    scores: bool = False


@dataclass(frozen=True)
class Binding:
    """Everything needed to translate a canonical question, and the answer back."""

    slots: tuple[Slot, ...]
    sizes: Sizes
    equal: frozenset[frozenset[str]] = frozenset()
    unexpected: frozenset[frozenset[str]] = frozenset()  # equalities that nothing excuses
    outputs: tuple[OutputForm, ...] = ()
    mask: MaskForm | None = None
    num_heads: int = 1
    kv_heads: int = 0  # 0: as many as query heads
    token_ids: bool = True
    state_pair: str = ""  # the state is a pair: (hidden, "cell") or (hidden, "feed")
    assumed: tuple[str, ...] = field(default=())

    def slot(self, role: str) -> Slot | None:
        return next((s for s in self.slots if s.role == role and not s.in_init), None)

    @property
    def self_attention(self) -> bool:
        return self.slot("key") is None

    @property
    def loops_batch(self) -> bool:
        """The code knows no batch: it is called once an example."""
        return "B" not in self.leading.axes

    @property
    def loops_queries(self) -> bool:
        """The code knows one query a call."""
        query = self.slot("query")
        return query is not None and "T" not in query.axes

    @property
    def leading(self) -> Slot:
        """The slot that says whether there is a batch."""
        found = self.slot("key") or self.slot("query")
        assert found is not None
        return found


@dataclass(frozen=True)
class Question:
    """What cannot be told, and the flag that tells it."""

    text: str
