"""What a person states about the code: what would otherwise be inferred, and what may fail."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
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
        if isinstance(self.expected_failures, str):
            raise ValueError(
                f"diagnose: expected_failures={self.expected_failures!r} is one string. "
                "Give a set of names."
            )
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
