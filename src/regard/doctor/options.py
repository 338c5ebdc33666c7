"""What a person states about the code: what would otherwise be inferred, and what may fail."""

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import Any

SCORES = ("additive", "concat", "dot", "general", "scaled_dot", "other")
LAYOUTS = ("batch_first", "length_first")
MASK_TRUE = ("attends", "hides")
CONVENTIONS = ("bahdanau", "luong")
ROLES = (
    *("query", "key", "value", "prepared_key", "mask", "lengths", "causal", "token", "cell"),
    *("feed", "parameter", "state"),  # a decoder's state is its query
)


@dataclass(frozen=True)
class Options:
    """As the arguments of `regard.diagnose`, checked.

    Raises:
        ValueError: a value is none of those that it can have.
    """

    bind: Mapping[str, str] = field(default_factory=dict)
    score: str | None = None
    scale: float | int | None = None
    layout: str | None = None
    mask_true: str | None = None
    convention: str | None = None
    expected_failures: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.score == "bilinear":
            object.__setattr__(self, "score", "general")
        for name, allowed in (
            ("score", SCORES),
            ("layout", LAYOUTS),
            ("mask_true", MASK_TRUE),
            ("convention", CONVENTIONS),
        ):
            given = getattr(self, name)
            if given is not None and given not in allowed:
                raise ValueError(
                    f"diagnose: {name}={given!r} is unknown. Give one of: {', '.join(allowed)}."
                )
        if self.scale is not None:
            _check_scale(self.scale)
        if self.expected_failures:
            _check_expected(self.expected_failures)
        if {"query", "state"} <= self.bind.keys():
            raise ValueError(
                f"diagnose: bind has query={self.bind['query']!r} and "
                f"state={self.bind['state']!r}, which are one role. Give one of them."
            )
        for role in self.bind:
            if role not in ROLES:
                raise ValueError(
                    f"diagnose: bind has the role {role!r}, which is unknown. "
                    f"Give one of: {', '.join(ROLES)}."
                )

    def stated(self) -> dict[str, Any]:
        """What `examine` is told."""
        told = {name: given for name, given in vars(self).items() if name != "expected_failures"}
        score = "unknown" if self.score == "other" else self.score
        bind = {"query" if role == "state" else role: name for role, name in self.bind.items()}
        return told | {"bind": bind or None, "score": score}

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {
            "bind": dict(self.bind),
            "expected_failures": sorted(self.expected_failures),
        }

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "Options":
        return cls(**told)


def _check_scale(scale: Any) -> None:
    """A factor that leaves the scores what they are: numbers that tell keys apart."""
    if not isinstance(scale, Real) or not math.isfinite(scale) or scale == 0:
        raise ValueError(
            f"diagnose: scale={scale!r} cannot multiply scores. Give a finite number other than 0, "
            "as 0.125 for 1/sqrt(64)."
        )


def _check_expected(expected: Collection[str]) -> None:
    """Names of checks or faults."""
    if isinstance(expected, str):
        raise ValueError(
            f"diagnose: expected_failures={expected!r} is one string. Give a set of names."
        )
    from regard.doctor.checks import CHECKS  # needs torch, which takes seconds
    from regard.doctor.explains import RULES

    known = sorted({check.name for check in CHECKS} | set(RULES))
    for name in expected:
        if name not in known:
            raise ValueError(
                f"diagnose: expected_failures has {name!r}, which is no check and no fault. "
                f"Give one of: {', '.join(known)}."
            )
