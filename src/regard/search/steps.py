"""A caller's step function, its outcomes checked."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, runtime_checkable

from jaxtyping import Int
from torch import Tensor

from regard.core.errors import dtype_text, shape_text
from regard.search.limits import Limits

State = TypeVar("State")
Next_co = TypeVar("Next_co", covariant=True)


@runtime_checkable
class StepLike(Protocol[Next_co]):
    """What a step function returns: logits (batch, vocab), weights or None, the next state."""

    @property
    def logits(self) -> Tensor: ...
    @property
    def weights(self) -> Tensor | None: ...
    @property
    def state(self) -> Next_co: ...


_PARTS = ("logits", "weights", "state")  # isinstance with a protocol takes 20 times as long


class CheckedStep(Generic[State]):
    """The step, with a row of logits and weights for each row that goes in, always as wide.

    Only shapes are read at each step, so that no device is waited for; the ids of the limits are
    checked when the vocabulary is first known.
    """

    def __init__(self, step: Callable[[Tensor, State], StepLike[State]], limits: Limits) -> None:
        self._step = step
        self._limits = limits
        self._num_steps = 0
        self._vocab: int | None = None
        self._source_len: int | None = None

    def __call__(self, tokens: Int[Tensor, " rows"], state: State) -> StepLike[State]:
        """One step.

        Raises:
            TypeError: what it returns is no step's outcome, or has no tensor of floats where it
                belongs.
            ValueError: a tensor does not fit the rows, or what the steps before returned; at the
                first step, an id that is not in the vocabulary.
        """
        outcome = self._step(tokens, state)
        self._num_steps += 1
        if not all(hasattr(outcome, part) for part in _PARTS):
            raise TypeError(
                f"{self._where} returned a {type(outcome).__name__}. A search reads its .logits, "
                ".weights and .state. Return regard.layers.Step(logits, weights or None, state)."
            )
        rows, is_first = len(tokens), self._num_steps == 1
        self._vocab = self._width("logits", outcome.logits, rows, "vocab", self._vocab)
        if is_first:
            self._limits.check_vocabulary(self._vocab)
        if not is_first and (outcome.weights is None) != (self._source_len is None):
            raise ValueError(
                f"{self._where} returned weights {_text(outcome.weights)}, the steps before "
                f"{'none' if self._source_len is None else 'some'}. An alignment has a row for "
                "every token. Return weights at each step, or None at each."
            )
        if outcome.weights is not None:
            self._source_len = self._width(
                "weights", outcome.weights, rows, "source_len", self._source_len
            )
        return outcome

    @property
    def _where(self) -> str:
        return f"{self._limits.caller}: step {self._num_steps}"

    def _width(self, name: str, given: object, rows: int, axis: str, known: int | None) -> int:
        """The size of the last axis, which is ``known`` after the first step."""
        is_floats = isinstance(given, Tensor) and given.is_floating_point()
        if isinstance(given, Tensor) and is_floats and given.dim() == 2:
            width = given.shape[1]
            if given.shape[0] == rows and known in (None, width):
                return width
        expected = f"({rows}, {axis if known is None else known})"
        raise (ValueError if is_floats else TypeError)(
            f"{self._where} returned {name} {_text(given)} where {expected} of floats is due"
            f"{'' if known is None else ', as wide as before'}. Each token that went in has its "
            f"row, and {axis} is the same at every step: nothing is stretched silently. Return "
            f"{name} {expected}."
        )


def _text(given: object) -> str:
    if not isinstance(given, Tensor):
        return f"of type {type(given).__name__}"
    if not given.is_floating_point():
        return f"{shape_text(given.shape)} of dtype {dtype_text(given.dtype)}"
    return shape_text(given.shape)
