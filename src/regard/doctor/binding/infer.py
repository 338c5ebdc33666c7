"""Finds the binding: roles from names, layouts from words, and the rest by trial calls."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from regard.doctor.binding import masks
from regard.doctor.binding.attempts import attempts, mask_slot
from regard.doctor.binding.binding import SEQUENCES, Question, Slot
from regard.doctor.binding.building import Refused, built, with_parameters_made
from regard.doctor.binding.construct import Construction, UnknownArgument
from regard.doctor.binding.conventions import Stated, batch_first, read_conventions
from regard.doctor.binding.layouts import layout_question, mixes
from regard.doctor.binding.outputs import as_scores, average_first
from regard.doctor.binding.roles import assign
from regard.doctor.binding.runner import is_lazy
from regard.doctor.binding.shapes import letter, shapes_in_order, stated_shapes
from regard.doctor.binding.sieve import Sieve
from regard.doctor.binding.subject import Subject
from regard.doctor.binding.sureness import doubt
from regard.doctor.binding.trial import Attempt, Trial, draw_inputs, try_out, with_outputs
from regard.doctor.binding.usage import by_use, by_words
from regard.doctor.probe import Failure

_TRIALS = 800  # of the whole search: a count, so that every machine finds the same


@dataclass(frozen=True)
class Found:
    """The best binding, what was stated, and how a call with all sizes different failed."""

    trial: Trial
    said: Stated
    construction: Construction
    coupling_failure: Failure | None = None

    @property
    def attempt(self) -> Attempt:
        return self.trial.attempt


def infer(
    subject: Subject, *, bind: Mapping[str, str], layout: str | None, mask_true: str | None
) -> Found | Question:
    """Search for the binding under which the code runs and answers in a shape understood."""
    absent = [name for name in bind.values() if name not in {*subject.call, *subject.init}]
    if absent:
        return Question(
            f"{subject.name} has no argument {absent[0]!r}, which --bind names. It has "
            f"{', '.join([*subject.call, *subject.init])}."
        )
    described = by_words(subject.call, subject.docs) if subject.source else {}
    slots = assign(subject.call, bind, has_embedding=_has_embedding(subject), described=described)
    slots = by_use(slots, subject.code)
    question = _incomplete(subject, slots)
    if question is not None:
        return question
    mask = mask_slot(slots)
    said = read_conventions(subject, mask.name if mask else "")
    named = _named(subject, slots) if subject.source else {}  # a built-in's tell of several layouts
    told = named | _in_order(subject, slots, named) if subject.source else {}
    if layout:
        said = replace(said, layout=layout.replace("-", "_"), layout_given=True)
    elif (first := batch_first(subject)) is not None:  # its words speak of both layouts
        said = replace(said, layout="batch_first" if first else "length_first")
        sequences = {s.name for s in slots if s.role in SEQUENCES}
        told = {name: axes for name, axes in told.items() if name not in sequences}
    refused: list[Refused] = []
    try:
        found = _search(subject, tuple(slots), told, said, mask_true, refused)
        if found is not None and found.trial.returned.failure is not None and told != named:
            other = _search(
                subject, tuple(slots), named, said, mask_true, refused
            )  # of another array
            found, told = (other, named) if other and other.trial.perfect else (found, told)
    except UnknownArgument as unknown:
        return Question(
            f"{subject.name} takes {unknown} in its constructor, and what it stands for cannot be "
            f"told from the name. Give an instance, or a factory that builds one."
        )
    if found is None:
        why = f": {refused[0]}" if refused else " from its constructor's arguments"
        return Question(
            f"{subject.name} could not be built{why}. "
            "Give an instance, or a factory that builds one."
        )
    question = _refused(subject, found.trial)
    question = question or doubt(subject, tuple(slots), told, said, found.construction, found.trial)
    if question is not None:
        return question
    settled = masks.settle(
        subject, with_outputs(found.trial), told.get(mask.name, ()) if mask else (), said,
        mask_true, said.causal,
    )  # fmt: skip
    settled = _same_length_if_causal(subject, settled, said)
    trial = try_out(subject, settled)
    if found.trial.perfect and not layout and not said.layout and trial.perfect:
        question = layout_question(subject, settled, tuple(slots), told, said)
        if question is not None:
            return question
    outputs = trial.outputs if trial.returned.failure is None else found.trial.outputs
    if trial.returned.failure is None:
        outputs = average_first(
            outputs, trial.returned.found, settled.binding, draw_inputs(settled.binding)
        )
        if _gives_scores(subject):
            outputs = as_scores(outputs, trial.returned.found)
    final = replace(settled, binding=replace(settled.binding, outputs=outputs))
    return replace(found, trial=replace(trial, attempt=final, outputs=outputs))


def _refused(subject: Subject, trial: Trial) -> Question | None:
    """A call that the code itself refuses, whatever it is given: that is no fault of shapes."""
    failure = trial.returned.failure
    if failure is None or not failure.refuses:
        return None
    return Question(
        f"{subject.name} refused every call that was tried, at line {failure.line} "
        f"({failure.code}; {failure.said}). Give a function that calls it as you do, or state "
        "what its arguments are with --bind."
    )


def _gives_scores(subject: Subject) -> bool:
    """Whether it says that scores are what it gives, and normalizes nothing."""
    said = re.search(r"\bscores?\b|_scores?\b", f"{subject.name}\n{subject.docs}".lower())
    return bool(said) and not re.search(r"softmax|exp\(|attend\(", subject.code)


def _same_length_if_causal(subject: Subject, attempt: Attempt, said: Stated) -> Attempt:
    """Code that is always causal is asked with as many queries as keys, unless it has a cache."""
    binding, words = attempt.binding, f"{subject.name}\n{subject.docs}".lower()
    cached = re.search("cache|past|prefix|last query|incremental|newest|so far", words)
    if not said.causal or cached or binding.self_attention or binding.loops_queries:
        return attempt
    sizes = binding.sizes.with_(query_len=binding.sizes.key_len)
    equal = binding.equal | {frozenset(("query_len", "key_len"))}
    return replace(attempt, binding=replace(binding, sizes=sizes, equal=equal))


def _has_embedding(subject: Subject) -> bool:
    names = {*subject.init}
    return "Embedding(" in subject.code or bool({"vocab_size", "embed_dim"} <= names)


def _incomplete(subject: Subject, slots: list[Slot]) -> Question | None:
    roles = [slot.role for slot in slots]
    unknown = [s.name for s in slots if s.role == "unknown" and s.required]
    missing = "query" if "query" not in roles else ""
    if unknown or missing:
        names = ", ".join(subject.call)
        example = unknown[0] if unknown else next(iter(subject.call), "NAME")
        what = f"what {', '.join(unknown)} stands for" if unknown else "which argument is the query"
        return Question(
            f"{subject.name}({names}): it cannot be told {what}. "
            f"State it with --bind {missing or 'ROLE'}={example}; roles are query, key, value, "
            "mask, lengths, token, cell, feed, parameter."
        )
    return None


def _named(subject: Subject, slots: list[Slot]) -> dict[str, tuple[str, ...]]:
    """Shapes that are stated behind a name."""
    told = stated_shapes(subject.docs, [*(s.name for s in slots), *subject.init])
    many = {s.name for s in slots if s.role in ("key", "value")}  # never one vector
    return {name: axes for name, axes in told.items() if name not in many or len(axes) > 1}


def _in_order(
    subject: Subject, slots: list[Slot], named: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Shapes in the order of the arguments, where a sentence names none of them."""
    tensors = [s for s in slots if s.role in SEQUENCES and s.required]
    if any(s.name in named for s in tensors):
        return {}
    given = re.split(r"->|\breturn", subject.sayings, flags=re.IGNORECASE)[0]
    listed = shapes_in_order(given)
    long = [shape for shape in listed if len(shape) > 2]
    if len(long) == 1 and len(long[0]) == 4 and letter(long[0][-1]) == "D":
        return {s.name: long[0] for s in tensors}
    if len(listed) == len(tensors) > 1:
        return {s.name: shape for s, shape in zip(tensors, listed, strict=True)}
    return {}


def _search(
    subject: Subject,
    slots: tuple[Slot, ...],
    told: Mapping[str, tuple[str, ...]],
    said: Stated,
    mask_true: str | None,
    refused: list[Refused],
) -> Found | None:
    best: Found | None = None
    first_failure: Failure | None = None
    step, trials = any(slot.role == "token" for slot in slots), 0
    for construction, made in built(subject, slots, told, step, refused):
        ahead, sieve = True, Sieve()
        for attempt in attempts(subject, slots, told, said, mask_true, construction, made):
            if not sieve.passes(attempt):
                continue
            trial = try_out(subject, attempt)
            if trial.returned.failure is None and is_lazy(made):
                trial = try_out(subject, with_parameters_made(subject, attempt))
            trials += 1
            sieve.failed(trial)
            if not _plausible(subject, trial, said):
                trial = replace(trial, outputs=(), returned=replace(trial.returned, progress=()))
                if trial.returned.failure is None:
                    continue
            if best is None or trial.rank > best.trial.rank:
                best = Found(trial, said, construction, first_failure)
            if trial.perfect or trials >= _TRIALS:
                return best
            if ahead and first_failure is None and trial.returned.failure is not None:
                first_failure, ahead = trial.returned.failure, False
    return best


def _plausible(subject: Subject, trial: Trial, said: Stated) -> bool:
    """Whether it may stand: a layout that nothing states must run, and keep samples apart."""
    first = trial.attempt.binding.leading.axes.startswith("TB")
    if not first or said.layout == "length_first":
        return True
    return trial.perfect and not mixes(subject, with_outputs(trial))
