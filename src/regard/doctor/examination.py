"""What a check may ask: the one interface between the binding and the checks."""

from typing import Any, Protocol, runtime_checkable

from regard.doctor.probe import Answer, Array, Inputs, Sizes


@runtime_checkable
class Examination(Protocol):
    """The examined code, bound: give it canonical input, get a canonical answer.

    `gives` and `takes` say what can be asked: {"context", "weights"} and {"query", "key",
    "value", "mask", "lengths", "causal", "gradients", "train", "half", "step", "prepared",
    "parameters"}. `score` is one of regard's score names, "unknown" where none was stated or
    inferred; `scale` the multiplier of the scores that is right, None where unknown.
    """

    name: str
    framework: str  # "numpy" or "torch"
    sizes: Sizes  # the smallest set of equalities that the code accepts
    equal: frozenset[frozenset[str]]  # names of sizes that must be equal, e.g. {query_dim, key_dim}
    unexpected: frozenset[frozenset[str]]  # those of `equal` that nothing excuses
    gives: frozenset[str]
    takes: frozenset[str]
    score: str
    scale: float | None
    convention: str  # "bahdanau", "luong" or ""
    num_heads: int
    source: tuple[str, ...]  # the lines of the file
    file: str
    mask_role: str  # the parameter's name that carries the mask, "" without

    def inputs(self, *, sizes: Sizes | None = None, seed: int = 0, lengths: bool = False) -> Inputs:
        """Random input (standard normal). With `lengths`, lengths that differ, the first full."""
        ...

    def ask(
        self,
        inputs: Inputs,
        *,
        train: bool = False,
        gradients: bool = False,
        half: bool = False,
        trace: bool = False,
    ) -> Answer:
        """One call on a fresh copy of the code (same parameters), so that no call sees another."""
        ...

    def ask_twice(self, first: Inputs, second: Inputs) -> Answer:
        """Both calls on one copy; the answer is the second's."""
        ...

    @property
    def uninitialized(self) -> tuple[str, ...]:
        """Names of parameters that hold no number that the code put there."""
        ...

    def parameters(self) -> dict[str, Array]:
        """The code's own parameters by name: the module's, or the arrays that the call is given."""
        ...

    def with_parameters(self, parameters: dict[str, Any]) -> "Examination":
        """The same code with some parameters replaced."""
        ...
