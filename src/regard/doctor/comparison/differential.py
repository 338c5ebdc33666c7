"""The differential diagnosis: the code's numbers against the reference and its known faults."""

from dataclasses import dataclass

from regard.doctor.comparison.additive_variants import ADDITIVE_SCORES
from regard.doctor.comparison.anatomy import Anatomy, dissect
from regard.doctor.comparison.causal_variants import CAUSAL
from regard.doctor.comparison.dot_variants import DOT_SCORES
from regard.doctor.comparison.head_variants import HEADS
from regard.doctor.comparison.inside import attended
from regard.doctor.comparison.mask_variants import MASKS
from regard.doctor.comparison.match import Families, Match, Right, Target, best, mistake
from regard.doctor.comparison.named_faults import findings_of, used_transposed
from regard.doctor.comparison.operand_variants import OPERANDS
from regard.doctor.comparison.reference_model import Stages, hide_finitely
from regard.doctor.comparison.rights import is_additive, models, rights
from regard.doctor.comparison.variants import Variant
from regard.doctor.comparison.weight_variants import NORMALIZERS, WEIGHERS
from regard.doctor.examination import Examination
from regard.doctor.findings import Finding
from regard.doctor.probe import Answer, Inputs

SOFT = 0.4  # input is made small, so that no softmax or tanh is saturated
OTHER_WEIGHTS = Variant(
    "returned-weights",
    "the context is right, and the weights returned are not those that made it",
    "the weights returned are those of the average, before dropout",
    "weigh",
    lambda s: s,
    "return",
)


@dataclass(frozen=True)
class Differential:
    """Faults named with certainty, and whether the right numbers were seen."""

    findings: tuple[Finding, ...] = ()
    sound: bool = False
    notes: tuple[str, ...] = ()


def differential(exam: Examination) -> Differential:
    """Compares on plain input, then under the code's mask, then causal."""
    plain = _soft(exam.inputs())
    answer, anatomy = _ask(exam, plain)
    if anatomy is None:
        return Differential()
    asked = _masked(exam)
    masked = bool(asked) or plain.may_attend is not None
    readings = rights(exam, anatomy, plain, masked=masked)
    scores = ADDITIVE_SCORES if is_additive(exam, anatomy) else DOT_SCORES
    hidden = (*((CAUSAL,) if plain.causal else ()), *((MASKS,) if masked else ()))
    scoring = (scores, *hidden, NORMALIZERS, OPERANDS, HEADS)
    found = _matched(readings, answer, scoring, (OPERANDS, HEADS, WEIGHERS))
    findings: tuple[Finding, ...] = ()
    bases = list(dict.fromkeys(right.stages for right in readings))
    if found is not None and not _only_hides(found, plain):
        bases = [found.stages]
        findings = tuple(findings_of(exam, answer, anatomy, found, plain))
        findings = findings or used_transposed(exam, anatomy, answer, found)
    agreed = found is not None
    for inputs in asked:
        more = _under_mask(exam, inputs, bases)
        agreed = agreed and more is not None
        findings += tuple(f for f in more or () if f.fault not in {g.fault for g in findings})
    if found is not None and not findings and found.variants:
        findings = tuple(findings_of(exam, answer, anatomy, found, plain))
    return Differential(findings, sound=agreed and not findings)


def _soft(inputs: Inputs) -> Inputs:
    key = None if inputs.key is None else inputs.key * SOFT
    return inputs.with_(query=inputs.query * SOFT, key=key)


def _ask(exam: Examination, inputs: Inputs) -> tuple[Answer, Anatomy | None]:
    answer = exam.ask(inputs, trace=True)
    if answer.failure is not None or (answer.weights is None and answer.context is None):
        return answer, None
    anatomy = dissect(exam, inputs, answer)
    return (answer if anatomy is None else attended(answer, anatomy, inputs)), anatomy


def _only_hides(found: Match, plain: Inputs) -> bool:
    """A mask's fault seen where nothing is hidden: a question with a mask tells which it is."""
    masks = any(variant in MASKS for variant in found.variants)
    return masks and plain.may_attend is None


def _masked(exam: Examination) -> list[Inputs]:
    found = []
    if exam.takes & {"mask", "lengths"}:
        inputs = exam.inputs(lengths=True, seed=1)
        if inputs.may_attend is not None:
            found.append(_soft(inputs))
    if "causal" in exam.takes and not exam.inputs().causal:
        found.append(_soft(exam.inputs(seed=2)).with_(causal=True))
    return found


def _under_mask(exam: Examination, inputs: Inputs, bases: list[Stages]) -> list[Finding] | None:
    answer, anatomy = _ask(exam, inputs)
    if anatomy is None:
        return None
    finite = [base.with_(hide=hide_finitely) for base in bases]  # no fault: rows have a key
    readings = [
        Right(base, model) for model in models(anatomy, inputs) for base in (*bases, *finite)
    ]
    both = (MASKS,) if inputs.causal and inputs.may_attend is not None else ()
    families = (CAUSAL if inputs.causal else MASKS, *both)
    found = _matched(readings, answer, families, (), fit_scale=False)
    if found is None:
        return None
    return list(findings_of(exam, answer, anatomy, found, inputs))


def _matched(
    readings: list[Right],
    answer: Answer,
    scoring: Families,
    averaging: Families,
    *,
    fit_scale: bool = True,
) -> Match | None:
    """One fault, or two: those of the weights are looked for first, then those of the context."""
    families = (*scoring, *(family for family in averaging if family not in scoring))
    whole = Target(answer.weights, answer.context)
    if answer.weights is None or answer.context is None:
        return best(readings, whole, families, fit_scale=fit_scale)
    found = best(readings, whole, families, fit_scale=fit_scale, pairs=False)
    if found is not None:
        return found
    right = best(readings, Target(None, answer.context), (), fit_scale=False)
    if right is not None and not right.variants:
        differs = mistake(right.stages, right.model, Target(answer.weights, None))
        return Match((OTHER_WEIGHTS,), right.stages, right.model, right.error, differs)
    weighted = best(readings, Target(answer.weights, None), scoring, fit_scale=fit_scale)
    if weighted is None:
        return None
    here = [Right(weighted.stages, weighted.model)]
    averaged = best(here, whole, averaging, fit_scale=False)
    if averaged is None:
        return weighted
    return Match(
        (*weighted.variants, *averaged.variants),
        averaged.stages,
        averaged.model,
        averaged.error,
        min(weighted.right_error, averaged.right_error),
        weighted.scale,
    )
