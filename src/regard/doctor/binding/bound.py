"""The examined code, bound: canonical questions in, canonical answers out."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from regard.doctor.binding.asked import Asked
from regard.doctor.binding.assumptions import assumptions
from regard.doctor.binding.binding import Binding, Question
from regard.doctor.binding.head_width import compared_width, declared_head_widths
from regard.doctor.binding.infer import Found
from regard.doctor.binding.native import visibility
from regard.doctor.binding.parameters import draw
from regard.doctor.binding.roles import init_role
from regard.doctor.binding.runner import fresh
from regard.doctor.binding.stated import infer_as_stated
from regard.doctor.binding.subject import CannotRead, Subject, read_subject
from regard.doctor.binding.trial import draw_inputs
from regard.doctor.binding.unfilled import unfilled
from regard.doctor.probe import Answer, Array, Inputs, Sizes


def examine(
    obj: Any,
    *,
    bind: Mapping[str, str] | None = None,
    score: str | None = None,
    scale: float | None = None,
    layout: str | None = None,
    mask_true: str | None = None,
    convention: str | None = None,
) -> "BoundExamination | Question":
    """Bind an attention implementation, or ask for the one thing that cannot be told.

    Args:
        obj: a function, a module or other callable instance, a class, or a factory for one.
        bind: argument names by role, ``{"query": "hidden"}``.
        score: one of regard's score names.
        scale: the multiplier of the scores that is right.
        layout: ``batch-first`` or ``length-first``.
        mask_true: ``hides`` or ``attends``: what True (1) does in its mask.
        convention: ``bahdanau`` or ``luong``.
    """
    try:
        subject = read_subject(obj)
    except CannotRead as error:
        return Question(str(error))
    found = infer_as_stated(subject, bind=bind or {}, layout=layout, mask_true=mask_true)
    if isinstance(found, Question):
        return found
    return BoundExamination(subject, found, score=score, scale=scale, convention=convention)


# Other names of the scores.
_SCORES = {
    "bilinear": "general",
    "multiplicative": "general",
    "bahdanau": "additive",
    "scaled-dot": "scaled_dot",
    "other": "unknown",
}


class BoundExamination:
    """An `Examination` of one implementation.

    Beside the interface: `assumed` (sentences), `binding`, `mask_form` ("", "lengths", "padding"
    or "pair"), `unexpected` (equalities of sizes that nothing excuses) with `coupling_failure`
    (how it fails without them), `always_causal`, `docs`.
    """

    def __init__(
        self,
        subject: Subject,
        found: Found,
        *,
        score: str | None = None,
        scale: float | None = None,
        convention: str | None = None,
    ) -> None:
        self.subject, self._found = subject, found
        self._attempt = found.attempt
        self.dims = found.attempt.dims  # of parameters that are arguments
        self.binding: Binding = found.attempt.binding
        self._overrides: dict[str, Any] = {}
        said = found.said
        self.name, self.framework = subject.name, subject.framework
        self.file, self.source = subject.file, subject.source
        self.docs = subject.docs
        self.sizes: Sizes = self.binding.sizes
        self.equal, self.unexpected = self.binding.equal, self.binding.unexpected
        self.coupling_failure = found.coupling_failure if self.unexpected else None
        self.num_heads = self.binding.num_heads if self._has_heads() else 1
        if self.num_heads == 1 and self.binding.num_heads != 1:
            self.sizes = self.sizes.with_(num_heads=1)
            self.binding = replace(self.binding, num_heads=1, sizes=self.sizes)
        self.score = _SCORES.get(score or "", score) or said.score or "unknown"
        self.convention = convention or said.convention
        self.always_causal = said.causal
        mask = self.binding.slot("mask")
        lengths = self.binding.slot("lengths")
        self.mask_role = mask.name if mask else lengths.name if lengths else ""
        self.mask_form = self._mask_form()
        self.gives = frozenset(f.role for f in self.binding.outputs if f.role != "other")
        self.takes = self._takes()
        self.stated_mask = said.mask_true
        self.scale = scale if scale is not None else self._right_scale()
        given = {slot.name for slot in self.binding.slots}
        self.assumed = assumptions(
            self.binding,
            self.dims,
            score=(self.score, score is not None),
            convention=(self.convention, convention is not None),
            scale=(self.scale, scale is not None),
            left={n: p.default for n, p in subject.call.items() if n not in given},
        )

    # what it is

    def _has_heads(self) -> bool:
        b = self.binding
        slots = any(s.role == "heads" for s in b.slots) or "H" in b.leading.axes
        axes = any(set("HG") & set(f.axes) for f in b.outputs if f.role == "weights")
        made = self._attempt.made
        instance = self.subject.kind != "function" and b.num_heads > 1 and made is not None
        given = "num_heads" in {init_role(name) for name in self._attempt.init or {}}
        return slots or axes or instance or given

    def _right_scale(self) -> float | None:
        if self.score == "scaled_dot":
            projected = any(s.role == "parameter" for s in self.binding.slots)
            projected |= "attn_dim" in {init_role(n) for n in self.subject.init}
            dim = self.sizes.attn_dim if projected else self.sizes.query_dim
            width = dim / self.num_heads
            if self.subject.kind == "instance" and self.num_heads == 1:  # no name tells its widths
                compared = compared_width(self.ask(self.inputs(), trace=True).trace)
                width = compared or width
            declared = declared_head_widths(self.subject, self._attempt.made) - {width}
            if self.num_heads > 1 and declared:
                compared = compared_width(self.ask(self.inputs(), trace=True).trace)
                width = compared if compared is not None and compared in declared else width
            return float(width**-0.5)
        return None if self.score == "unknown" else 1.0

    def _mask_form(self) -> str:
        form = self.binding.mask
        if self.binding.slot("mask") is not None and form is not None:
            return "pair" if "Q" in form.axes or self.binding.loops_queries else "padding"
        return "lengths" if self.binding.slot("lengths") is not None else ""

    def _takes(self) -> frozenset[str]:
        roles = {slot.role for slot in self.binding.slots}
        takes = {"query"} | (roles & {"key", "value", "causal", "token", "cell", "feed"})
        if self.mask_form in ("padding", "pair"):
            takes.add("mask")
        per_sample = (
            self.binding.loops_batch or self.binding.mask is None or "B" in self.binding.mask.axes
        )
        if self.mask_form and per_sample:
            takes.add("lengths")
        if self.always_causal:
            takes.add("causal")
        if self.framework == "torch":
            takes |= {"gradients", "half"}
        if isinstance(self._attempt.made, torch.nn.Module) or "training" in roles:
            takes.add("train")
        if "token" in roles:
            takes.add("step")
        if self.parameters():
            takes.add("parameters")
        return frozenset(takes)

    # what can be asked

    def inputs(self, *, sizes: Sizes | None = None, seed: int = 0, lengths: bool = False) -> Inputs:
        """Random input (standard normal). With `lengths`, lengths that differ, the first full."""
        binding = self.binding if sizes is None else replace(self.binding, sizes=sizes)
        given = None
        if lengths:
            keys, batch = binding.sizes.key_len, binding.sizes.batch
            given = tuple(max(1, keys - 2 * b) for b in range(batch))
            if "lengths" not in self.takes:
                given = (max(1, keys - 2),) * batch
        drawn = draw_inputs(binding, seed=seed, lengths=given, causal=self.always_causal)
        if given is None or not self.mask_form:
            return drawn.with_(lengths=None)
        drawn = drawn.with_(may_attend=visibility(drawn))
        return drawn if "lengths" in self.takes else drawn.with_(lengths=None)

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
        return Asked(self, (inputs,), train, gradients, half, trace).answer()

    def ask_twice(self, first: Inputs, second: Inputs) -> Answer:
        """Both calls on one copy; the answer is the second's."""
        return Asked(self, (first, second), False, False, False, False).answer()

    def parameters(self) -> dict[str, Array]:
        """The code's own parameters by name: the module's, or the arrays that the call is given."""
        named = draw(dict(self.dims), self.binding.sizes, seed=1)
        made = self._attempt.made
        if isinstance(made, torch.nn.Module):
            named |= _floats(made)
        elif self.subject.kind != "function" and self._attempt.init is None:
            named |= own_arrays(made)
        return {n: np.asarray(self._overrides.get(n, a)) for n, a in named.items()}

    def with_parameters(self, parameters: dict[str, Any]) -> "BoundExamination":
        """The same code with some parameters replaced."""
        other = copy.copy(self)
        other._overrides = {**self._overrides, **parameters}
        return other

    @property
    def uninitialized(self) -> tuple[str, ...]:
        """Parameters that building the code leaves unfilled."""
        return unfilled(self.subject, dict(self._found.construction.arguments))

    def fresh(self, parameters: dict[str, Any], *, train: bool, half: bool) -> Any:
        """A copy to call, with these parameters where the constructor takes them."""
        init = self._attempt.init
        if init is not None:
            slots = (s.name for s in self.binding.slots if s.in_init)
            return fresh(self.subject, None, {**init, **{name: parameters[name] for name in slots}})
        owner = fresh(self.subject, self._attempt.made)
        if isinstance(owner, torch.nn.Module):
            with torch.no_grad():
                for name, parameter in owner.named_parameters():
                    if name in self._overrides:
                        parameter.copy_(torch.as_tensor(np.asarray(self._overrides[name])))
            owner.train(train)
            owner = owner.half() if half else owner
        elif self.subject.kind != "function":
            for name in own_arrays(owner).keys() & self._overrides.keys():
                setattr(owner, name, np.asarray(self._overrides[name]))
        return owner


def _floats(module: torch.nn.Module) -> dict[str, Array]:
    """Its parameters that are learned: a counter that is kept as one (Keras) is none."""
    named = module.named_parameters()
    return {n: p.detach().double().numpy().copy() for n, p in named if p.is_floating_point()}


def own_arrays(owner: Any) -> dict[str, Array]:
    """The weights that a class without torch made for itself: its matrices and vectors."""
    kept = getattr(owner, "__dict__", {}).items()
    return {n: a for n, a in kept if isinstance(a, np.ndarray) and a.ndim and a.dtype.kind == "f"}
