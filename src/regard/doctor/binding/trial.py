"""One trial of a binding: build the input, call once, look at what came back."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from regard.doctor.binding.binding import Binding, OutputForm
from regard.doctor.binding.native import Leaves, arguments, parts
from regard.doctor.binding.outputs import classify
from regard.doctor.binding.parameters import Dims, draw
from regard.doctor.binding.runner import Returned, call, fresh
from regard.doctor.binding.subject import Subject
from regard.doctor.probe import Failure, Inputs


@dataclass(frozen=True)
class Attempt:
    """A binding with what is needed to call it."""

    binding: Binding
    made: Any = None  # the instance, with parameters drawn
    init: dict[str, Any] | None = None  # constructor arguments of a plain class
    dims: tuple[tuple[str, Dims], ...] = ()  # of the parameters that are arguments


@dataclass(frozen=True)
class Trial:
    """An attempt and what became of it; `unknown` counts arrays that were not understood."""

    attempt: Attempt
    returned: Returned
    outputs: tuple[OutputForm, ...] = ()
    unknown: int = 0

    @property
    def rank(self) -> tuple[Any, ...]:
        """Understood answers before answers, answers before errors, later errors before early.

        An error that comes late only because sizes that are stated apart are equal counts less.
        """
        ran = self.returned.failure is None
        roles = {form.role for form in self.outputs}
        understood = bool(roles & {"context", "weights"})
        apart = not self.attempt.binding.unexpected
        return (understood and not self.unknown, understood, ran, apart, self.returned.progress)

    @property
    def perfect(self) -> bool:
        return bool(self.rank[0])


def draw_inputs(
    binding: Binding, *, seed: int = 0, lengths: tuple[int, ...] | None = None, causal: bool = False
) -> Inputs:
    """Standard normal input at the binding's sizes."""
    sizes, random = binding.sizes, np.random.default_rng(seed)
    normal = random.standard_normal
    own = binding.self_attention
    query = normal((sizes.batch, sizes.query_len, sizes.query_dim))
    extra: dict[str, Any] = {}
    roles = {slot.role for slot in binding.slots}
    if "token" in roles:
        ids, width = max(2, sizes.vocab), (sizes.batch, sizes.embed_dim)
        drawn = random.integers(1, ids, sizes.batch) if binding.token_ids else normal(width)
        extra["token"] = drawn
    if "cell" in roles or binding.state_pair == "cell":
        extra["cell"] = normal((sizes.batch, sizes.query_dim))
    if "feed" in roles or binding.state_pair == "feed":
        extra["feed"] = normal((sizes.batch, sizes.value_dim))
    return Inputs(
        query=query,
        key=None if own else normal((sizes.batch, sizes.key_len, sizes.key_dim)),
        value=normal((sizes.batch, sizes.key_len, sizes.value_dim)) if "value" in roles else None,
        lengths=lengths,
        causal=causal,
        extra=extra,
    )


def attempt_call(subject: Subject, attempt: Attempt, inputs: Inputs, owner: Any = None) -> Returned:
    """The first part of a question, called once, on a fresh copy unless an owner is given."""
    binding = attempt.binding
    leaves = Leaves(inputs, subject.framework, torch.float32)
    drawn = draw(dict(attempt.dims), binding.sizes, seed=1)
    parameters = {name: leaves.make(array) for name, array in drawn.items()}
    init = attempt.init
    if init is not None:
        init = {**init, **{s.name: parameters[s.name] for s in binding.slots if s.in_init}}
    try:
        owner = fresh(subject, attempt.made, init) if owner is None else owner
        given, _, _ = arguments(binding, inputs, leaves, parts(binding, inputs)[0], parameters)
    except Exception as error:  # a layout that does not fit the input
        return Returned(failure=_impossible(error))
    return call(subject, owner, given)


def try_out(subject: Subject, attempt: Attempt, inputs: Inputs | None = None) -> Trial:
    """Call once, on random input unless some is given, and read the answer."""
    returned = attempt_call(subject, attempt, inputs or draw_inputs(attempt.binding))
    outputs, unknown = classify(list(returned.found), attempt.binding)
    return Trial(attempt, returned, outputs, unknown)


def with_outputs(trial: Trial) -> Attempt:
    """The attempt, with the forms of the answer that it gave."""
    binding = replace(trial.attempt.binding, outputs=trial.outputs)
    return replace(trial.attempt, binding=binding)


def _impossible(error: Exception) -> Any:
    return Failure(type(error).__name__, str(error))
