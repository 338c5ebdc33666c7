"""From checks, comparison and trace to findings: the certain cause first, the rest after it."""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace

from regard.doctor.advice import advice, rule
from regard.doctor.binding.without_dropout import WithoutDropout
from regard.doctor.checks import CHECKS
from regard.doctor.checks.repeating import RANDOM
from regard.doctor.comparison.differential import Differential, differential
from regard.doctor.comparison.usual_spots import usual_spot
from regard.doctor.examination import Examination
from regard.doctor.explains import ADVICE, DISPROVES, EXPLAINS, GRAVEST_FIRST, RULES
from regard.doctor.findings import Certainty, CheckResult, Finding, Outcome
from regard.doctor.symptoms import Check, NotChecked, Note, Symptom
from regard.doctor.tracing.explain_failure import explain
from regard.doctor.tracing.trace import Event

_MASKING = ("masked_fill", "where", "add", "mul", "sub", "setitem", "scaled_dot_product_attention")
_SEEN_HAPPENING = ("in-place", "stale-cache", "uninitialized")
Diagnosis = tuple[tuple[Finding, ...], tuple[str, ...], tuple[CheckResult, ...]]


def diagnose_examination(exam: Examination) -> Diagnosis:
    """Findings (the certain ones first), notes, and what became of every check."""
    raised = _raised(exam)
    if raised is not None:
        broken = CheckResult(
            "accepts-legal-sizes", RULES["shape-error"], Outcome.FAILED, raised.seen
        )
        unmade = [c for c in CHECKS if c.name != broken.name]
        return (raised,), (), (broken, *_unmade(unmade, "the code raises on plain input"))
    random = next(check for check in CHECKS if check.name == RANDOM)
    rest = [check for check in CHECKS if check is not random]
    symptoms, notes, results = run_checks(exam, (random,))
    with WithoutDropout() if symptoms else nullcontext():
        if symptoms and run_checks(exam, (random,))[0]:
            results += _unmade(rest, "equal input gives unequal results")
            return tuple(merged(exam, (), symptoms)), (), tuple(results)
        compared = _compared(exam)
        found = run_checks(exam, rest)
    # With dropout turned off the answers were steady: it is the cause, and of nothing found since.
    dropped = [replace(s, causes=("dropout",)) for s in symptoms]
    dropped += [s for s in found[0] if symptoms and "dropout" in s.causes]
    others = _possible([s for s in found[0] if s not in dropped], found[2])
    findings = merged(exam, compared.findings, others) + merged(exam, (), dropped)
    return tuple(findings), (*compared.notes, *notes, *found[1]), (*results, *found[2])


def _unmade(checks: Iterable[Check], reason: str) -> list[CheckResult]:
    return [CheckResult(c.name, c.claim, Outcome.NOT_CHECKED, reason) for c in checks]


def _compared(exam: Examination) -> Differential:
    try:
        return differential(exam)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return Differential(notes=(f"the comparison with the reference was not made ({said})",))


def _raised(exam: Examination) -> Finding | None:
    """The error that input of legal sizes meets, plain or with a mask, explained."""
    masked = (True,) if exam.takes & {"mask", "lengths"} else ()
    for lengths in (False, *masked):
        answer = exam.ask(exam.inputs(lengths=lengths), trace=True)
        if answer.failure is None:
            continue
        said = explain(answer, exam.sizes, exam.source, exam.framework)
        fault = _raised_fault(said.event, exam)
        return Finding(
            fault,
            said.tensor,
            said.rule,
            f"{answer.failure.kind}: {said.seen}",
            said.fix,
            Certainty.CERTAIN,
            said.place,
            ("accepts-legal-sizes",),
        )
    return None


def _raised_fault(event: Event | None, exam: Examination) -> str:
    """A misplaced mask, a missing axis (it runs where two sizes are equal), or plain shapes."""
    if event is None or len(event.inputs) < 2:
        return "shape-error"
    roles = {"mask", "lengths", "may_attend", exam.mask_role}
    if event.op in _MASKING and any(o.origins and o.origins <= roles for o in event.inputs):
        return "mask-axis"
    ranks = {operand.value.ndim for operand in event.inputs if operand.value.ndim}
    if event.op in ("add", "mul", "sub") and len(ranks) > 1 and _unequal_axes(event) == 1:
        return "broadcast"
    return "shape-error"


def _unequal_axes(event: Event) -> int:
    """How many axes would have to be equal by chance for the operation to run."""
    one, other = (operand.shape[::-1] for operand in event.inputs[:2])
    return sum(a != b and 1 not in (a, b) for a, b in zip(one, other, strict=False))


def run_checks(
    exam: Examination, checks: Iterable[Check]
) -> tuple[list[Symptom], list[str], list[CheckResult]]:
    """Every check once. One that fails of itself is not made, and says so."""
    symptoms: list[Symptom] = []
    notes: list[str] = []
    results: list[CheckResult] = []
    for check in checks:
        outcome, reason = Outcome.PASSED, ""
        try:
            for found in check.look(exam):
                if isinstance(found, Symptom):
                    symptoms.append(found)
                    outcome, reason = Outcome.FAILED, found.seen
                elif isinstance(found, Note):
                    notes.append(found.reason)
                elif isinstance(found, NotChecked) and outcome is Outcome.PASSED:
                    outcome, reason = Outcome.NOT_CHECKED, found.reason
        except Exception as error:
            outcome = Outcome.NOT_CHECKED
            reason = f"the check itself failed with {type(error).__name__}: {error}"
        results.append(CheckResult(check.name, check.claim, outcome, reason))
    return symptoms, notes, results


def explained(fault: str, symptom: Symptom) -> bool:
    """Whether the fault breaks this claim."""
    return fault in symptom.causes or symptom.check in EXPLAINS.get(fault, frozenset())


def merged(
    exam: Examination, certain: tuple[Finding, ...], symptoms: list[Symptom]
) -> list[Finding]:
    """Certain findings with the symptoms that they explain; what is left makes its own.

    A finding that comes with checks breaks those besides the ones of its fault.
    """
    findings: list[Finding] = []
    left = list(symptoms)
    for finding in certain:
        folded = [s for s in symptoms if explained(finding.fault, s) or s.check in finding.checks]
        left = [s for s in left if s not in folded]
        names = dict.fromkeys(s.check for s in folded)
        findings.append(replace(_where_seen(exam, finding, folded), checks=tuple(names)))
    likely: list[Finding] = []
    while left:
        fault = _likeliest(left)
        folded = [s for s in left if explained(fault, s)]
        left = [s for s in left if s not in folded]
        likely.append(_likely(exam, fault, folded))
    return findings + sorted(likely, key=lambda finding: _rank(finding.fault))


def _where_seen(exam: Examination, finding: Finding, folded: list[Symptom]) -> Finding:
    """Examples that feel each other: the operation seen to mix them, not the stage's usual one."""
    events = [s.event for s in folded if s.check == "samples-independent" and s.event is not None]
    if not events or finding.fault not in ("batch-mixing", "broadcast"):
        return finding
    found = usual_spot(exam, finding.fault, events[0])
    if found.place is None or (finding.place and found.place.line == finding.place.line):
        return finding
    return replace(finding, place=found.place, tensor=found.tensor, fix=ADVICE[finding.fault])


def _rank(fault: str) -> int:
    return GRAVEST_FIRST.index(fault) if fault in GRAVEST_FIRST else len(GRAVEST_FIRST)


def _possible(symptoms: list[Symptom], results: list[CheckResult]) -> list[Symptom]:
    """The symptoms without those causes that a check which holds rules out, unless all are."""
    passed = [r.name for r in results if r.outcome is Outcome.PASSED]
    ruled_out = frozenset[str]().union(*(DISPROVES.get(name, frozenset()) for name in passed))
    kept = []
    for symptom in symptoms:
        causes = tuple(cause for cause in symptom.causes if cause not in ruled_out)
        kept.append(replace(symptom, causes=causes or symptom.causes))
    return kept


def _likeliest(symptoms: list[Symptom]) -> str:
    """The fault that best explains them.

    Each symptom has one vote, shared among its causes, the first the most: one with a single
    cause says more than one with many. A vote with the operation seen counts more.
    """
    points: dict[str, float] = {}
    for symptom in symptoms:
        shares = [1 / (1 + rank) for rank in range(len(symptom.causes))]
        weight = (1.5 if symptom.event is not None else 1.0) / sum(shares)
        for cause, share in zip(symptom.causes, shares, strict=True):
            points[cause] = points.get(cause, 0.0) + weight * share
    for fault in points:
        points[fault] += 0.6 * (fault in _SEEN_HAPPENING)
        points[fault] += 0.1 * sum(explained(fault, s) for s in symptoms)
    return max(points, key=lambda fault: points[fault])


def _likely(exam: Examination, fault: str, symptoms: list[Symptom]) -> Finding:
    shown = next((s for s in symptoms if s.event is not None and fault in s.causes), None)
    first = shown or next((s for s in symptoms if fault in s.causes), symptoms[0])
    found = usual_spot(exam, fault, shown.event if shown is not None else None)
    return Finding(
        fault,
        found.tensor,
        rule(exam, fault),
        first.seen,
        advice(exam, fault, found.place),
        Certainty.CERTAIN if fault == "in-place" else Certainty.LIKELY,
        found.place,
        tuple(dict.fromkeys(s.check for s in symptoms)),
    )
