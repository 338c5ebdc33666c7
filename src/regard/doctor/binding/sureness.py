"""Whether code that never ran is at fault itself, or its call was not understood."""

from collections.abc import Mapping
from dataclasses import replace

from regard.doctor.binding.attempts import attempts
from regard.doctor.binding.binding import SEQUENCES, Question, Slot
from regard.doctor.binding.building import alike
from regard.doctor.binding.construct import Construction
from regard.doctor.binding.conventions import Stated
from regard.doctor.binding.layouts import mixes
from regard.doctor.binding.subject import Subject
from regard.doctor.binding.trial import Trial, try_out, with_outputs
from regard.doctor.probe import Failure

# What NumPy and torch raise for shapes; asserting is what torch's multi-head attention does.
_OF_SHAPES = ("RuntimeError", "ValueError", "IndexError", "AssertionError")
_TRIALS = 200


def doubt(
    subject: Subject,
    slots: tuple[Slot, ...],
    told: Mapping[str, tuple[str, ...]],
    said: Stated,
    construction: Construction,
    trial: Trial,
) -> Question | None:
    """Ask where every call raised and the code is not surely at fault.

    It is where arguments and widths are known by their names, the layout is stated, and shapes of
    weights are stated if they can matter; or where nothing stated is needed, since no layout and
    no shapes of weights run even where all sizes but the batch are equal.
    """
    failure = trial.returned.failure
    if failure is None:
        return None
    flags = _unsure_names(subject, slots, construction)
    if not failure.line or failure.kind not in _OF_SHAPES:
        flags = flags or "Give a function that calls it as you do"
    if not flags and not _stated(slots, told, said, failure):
        if not _runs_somehow(subject, slots, said, construction):
            return None
        flags = "State the layout with --layout batch-first or --layout length-first, or write "
        flags += "the shapes of the arguments into its docstring"
    return Question(_text(subject, trial, failure, flags)) if flags else None


def _unsure_names(subject: Subject, slots: tuple[Slot, ...], construction: Construction) -> str:
    guessed = [s for s in slots if s.guessed and s.required and s.role in SEQUENCES]
    if guessed:
        stated = " ".join(f"--bind {s.role}={s.name}" for s in guessed)
        return f"State what its arguments are ({stated}, if that is what they are)"
    if construction.guessed:
        return f"Give an instance of {subject.name}, or a factory that builds one"
    return ""


def _stated(
    slots: tuple[Slot, ...],
    told: Mapping[str, tuple[str, ...]],
    said: Stated,
    failure: Failure,
) -> bool:
    """Whether the layout is, and the shapes of the weights that the failing line names."""
    sequences = [s for s in slots if s.role in ("query", "key") and s.required]
    weights = [s for s in slots if s.role == "parameter" and s.name in failure.code]
    laid = bool(said.layout) or all(s.name in told for s in sequences)
    return laid and all(s.name in told for s in weights)


def _runs_somehow(
    subject: Subject, slots: tuple[Slot, ...], said: Stated, construction: Construction
) -> bool:
    """Whether some layout and shapes of weights give an answer, with all sizes but batch equal."""
    made = alike(subject, construction)
    if made is None:
        return True
    free = replace(said, layout="", layout_given=False)
    for number, attempt in enumerate(attempts(subject, slots, {}, free, None, *made)):
        trial = try_out(subject, attempt)
        sound = trial.perfect and not mixes(subject, with_outputs(trial))
        if sound or number == _TRIALS:
            return True
    return False


def _text(subject: Subject, trial: Trial, failure: Failure, flags: str) -> str:
    given = ", ".join(
        f"{s.name} as the {s.role}"
        for s in trial.attempt.binding.slots
        if s.role in (*SEQUENCES, "token")
    )
    at = f" at line {failure.line} ({failure.code.strip()})" if failure.line else ""
    return (
        f"{subject.name} raised at every call that was tried (with {given}), at the furthest{at}: "
        f"{failure.said}. It cannot be told whether the code or the way it was called is wrong. "
        f"{flags}."
    )
