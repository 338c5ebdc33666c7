"""What a check says when its claim fails: a symptom, and the faults that would cause it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regard.doctor.examination import Examination
from regard.doctor.tracing.trace import Event


@dataclass(frozen=True)
class Symptom:
    """A broken claim. `causes` are fault names, the likeliest first; `event` where it shows."""

    check: str
    seen: str
    causes: tuple[str, ...]
    event: Event | None = None


@dataclass(frozen=True)
class NotChecked:
    """Why a check could not be made."""

    reason: str


@dataclass(frozen=True)
class Note(NotChecked):
    """A remark beside a claim that was not broken: a habit that is no fault, a convention found."""


@dataclass(frozen=True)
class Check:
    """A named claim and the function that tries to break it.

    The function yields a `Symptom` for each way in which the claim fails, nothing where it holds,
    or returns after yielding one `NotChecked`.
    """

    name: str
    claim: str
    look: Callable[[Examination], Iterator[Symptom | NotChecked]]
