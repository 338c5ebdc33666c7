"""What the configs of all families of models have in common."""

from dataclasses import asdict
from typing import Annotated, Any, ClassVar, TypeAlias

from regard.core.fields import Rule, between

# Limits that no sensible model meets, so that a slip of the finger ends at once, not after a minute
# of filling memory.
Width: TypeAlias = Annotated[int, between(1, 4096)]
Layers: TypeAlias = Annotated[int, between(1, 64)]
NumIds: TypeAlias = Annotated[int, between(1, 100_000_000)]
Window: TypeAlias = Annotated[
    int,
    Rule(
        "from 1 to 99, an odd number because the token is in its middle: 1 for the token alone",
        lambda given: 1 <= given <= 99 and given % 2 == 1,
    ),
]


class ModelConfig:
    """A frozen dataclass of sizes and choices, which is written as JSON."""

    model: ClassVar[str]
    """Name of the family, which says of which class the config is."""
    attention: str

    def description(self) -> str:
        """What this is, in a line for people."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The family and the fields as plain data."""
        return {"model": self.model, **asdict(self)}  # type: ignore[call-overload]


def check_choice(name: str, given: object, choices: tuple[str, ...]) -> None:
    """One of the names.

    Raises:
        ValueError: another.
    """
    if given not in choices:
        raise ValueError(f"{name}={given!r} is unknown. Choose one of: {', '.join(choices)}.")
