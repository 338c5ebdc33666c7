"""Whether what a person stated of the code fits the code that runs."""

from collections import Counter
from collections.abc import Mapping
from typing import TypeGuard

from regard.doctor.binding.binding import Question
from regard.doctor.binding.infer import Found, infer
from regard.doctor.binding.layouts import mixes
from regard.doctor.binding.masks import hidden_inputs
from regard.doctor.binding.subject import Subject
from regard.doctor.binding.trial import try_out

_LENGTHS = frozenset(("query_len", "key_len"))


def infer_as_stated(
    subject: Subject, *, bind: Mapping[str, str], layout: str | None, mask_true: str | None
) -> Found | Question:
    """The binding with what is stated, unless it contradicts the code.

    It does where the code does not run so, and runs once a statement is left out: then neither
    is blamed, and both are named.
    """
    question = _twice(subject, bind)
    if question is not None:
        return question
    found = infer(subject, bind=bind, layout=layout, mask_true=mask_true)
    if not (bind or layout) or (isinstance(found, Found) and not _doubtful(subject, found)):
        return found
    if layout:
        other = infer(subject, bind=bind, layout=None, mask_true=mask_true)
        if _is_better(other, found, subject) and not mixes(subject, other.attempt):
            return Question(_of_layout(subject, layout, found, other))
    if bind:
        other = infer(subject, bind={}, layout=layout, mask_true=mask_true)
        if _is_better(other, found, subject):
            text = _of_bind(subject, bind, found, other)
            return Question(text) if text else found
    return found


def _doubtful(subject: Subject, found: Found) -> bool:
    binding = found.attempt.binding
    alike = _LENGTHS in binding.equal and not binding.self_attention
    return alike or bool(_trouble(subject, found))


def _is_better(
    other: Found | Question, found: Found | Question, subject: Subject
) -> TypeGuard[Found]:
    """Whether it runs without trouble, where what was stated does not or needs equal lengths."""
    if not isinstance(other, Found) or _trouble(subject, other):
        return False
    needs_equal = _LENGTHS in other.attempt.binding.equal
    return not isinstance(found, Found) or bool(_trouble(subject, found)) or not needs_equal


def _twice(subject: Subject, bind: Mapping[str, str]) -> Question | None:
    """One argument in two roles, or two arguments in one."""
    roles = {role: "key" if role == "prepared_key" else role for role in bind}
    for counted, of in ((Counter(roles.values()), "role"), (Counter(bind.values()), "argument")):
        for name, times in counted.items():
            if times > 1:
                pairs = [f"{r}={n}" for r, n in bind.items() if name in (roles[r], n)]
                fix = "Give one of them"
                if of == "argument":
                    fix += " (code of one sequence has a query alone, which is its key as well)"
                return Question(
                    f"{subject.name}: --bind gives the {of} {name!r} twice, in "
                    f"{' and '.join(pairs)}. {fix}."
                )
    return None


def _trouble(subject: Subject, found: Found) -> str:
    """What does not go well under a binding, with the mask and without; "" where all does."""
    binding = found.attempt.binding
    trials = [found.trial]
    if binding.slot("mask") is not None:
        trials.append(
            try_out(subject, found.attempt, hidden_inputs(binding, causal=found.said.causal))
        )
    for trial in trials:
        failure = trial.returned.failure
        if failure is not None:
            at = f" at line {failure.line} ({failure.code.strip()})" if failure.line else ""
            return f"it raises{at}: {failure.said}"
    if not any(form.role in ("context", "weights") for form in binding.outputs):
        return "what it gives has no shape of a context or of weights"
    for pair in binding.unexpected:
        return f"it runs only where {' = '.join(sorted(pair))}"
    return ""


def _of_layout(subject: Subject, layout: str, found: Found | Question, other: Found) -> str:
    runs = "batch, length, dim" if layout.startswith("length") else "length, batch, dim"
    if "H" in other.attempt.binding.leading.axes:
        runs = "batch, heads, length, dim"
    elif "B" not in other.attempt.binding.leading.axes:
        runs = "length, dim"
    return (
        f"{subject.name} contradicts --layout {layout.replace('_', '-')}: with it "
        f"{_said(subject, found)}; with ({runs}) it runs. Leave --layout out, or, if it is what "
        "you mean, mend the code to run so."
    )


def _of_bind(
    subject: Subject, bind: Mapping[str, str], found: Found | Question, other: Found
) -> str:
    """Nothing where no name that is stated has another meaning without the statement."""
    roles = {slot.name: slot.role for slot in other.attempt.binding.slots}
    wrong = {
        role: name
        for role, name in bind.items()
        if roles.get(name, "unknown") not in ("unknown", {"prepared_key": "key"}.get(role, role))
    }
    if not wrong:
        return ""
    stated = " ".join(f"--bind {role}={name}" for role, name in wrong.items())
    meant = " and ".join(f"{name} as the {roles[name]}" for name in wrong.values())
    return (
        f"{subject.name} contradicts {stated}: so {_said(subject, found)}; with {meant} it runs. "
        "Correct --bind, or, if it is what you mean, mend the code to run so."
    )


def _said(subject: Subject, found: Found | Question) -> str:
    if isinstance(found, Found):
        return _trouble(subject, found) or "it runs only where query_len = key_len"
    return f"it cannot be examined ({found.text.rstrip('.')})"
