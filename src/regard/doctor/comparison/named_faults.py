"""A match with a known fault, written as findings: line, rule, numbers, fix."""

import re
from dataclasses import replace

import numpy as np

from regard.doctor.binding.outputs import arrays
from regard.doctor.comparison.anatomy import Anatomy
from regard.doctor.comparison.fixes import Spot
from regard.doctor.comparison.mask_variants import MASKS
from regard.doctor.comparison.match import Match, Target, mistake
from regard.doctor.comparison.reference_model import Model, Parts
from regard.doctor.comparison.replacements import replacement
from regard.doctor.comparison.rights import is_additive, right_scales
from regard.doctor.comparison.scale_names import named_scale, rescaled, scaled_rightly
from regard.doctor.comparison.spots import find_spot
from regard.doctor.comparison.variants import Variant
from regard.doctor.examination import Examination
from regard.doctor.findings import Certainty, Finding
from regard.doctor.probe import Answer, Inputs
from regard.doctor.tracing.dependence import PRODUCTS
from regard.doctor.tracing.locate import inverted_numbers


def _named(line: str, width: int, answer: Answer) -> str:
    """The first operand of the line's product, where its last axis is d_k wide."""
    found = re.search(r"(?:matmul|bmm)\(\s*([A-Za-z_]\w*)\b|\b([A-Za-z_]\w*)\s*@", line)
    if found is None:
        return ""
    shapes = [
        event.inputs[0].shape
        for event in answer.trace.events
        if event.op in PRODUCTS and event.place is not None and event.place.code.strip() in line
    ]
    fits = bool(shapes) and all(shape and shape[-1] == width for shape in shapes)
    return (found[1] or found[2]) if fits else ""


TRANSPOSED = Variant(
    "score-formula",
    "W is used transposed: s^T W^T h",
    "score(s, h) = s^T W h with W (d_s, d_h)",
    "score",
    lambda s: s,
    "W",
)


def findings_of(
    exam: Examination, answer: Answer, anatomy: Anatomy, found: Match, inputs: Inputs
) -> list[Finding]:
    """One for each known fault of the match, and one for its scale where that is wrong."""
    made = [_finding(exam, answer, anatomy, each, found) for each in found.variants]
    if found.scale is not None:
        scaled = _scale(exam, answer, anatomy, found, inputs)
        made += [] if scaled is None else [scaled]
    return made


def _finding(
    exam: Examination, answer: Answer, anatomy: Anatomy, variant: Variant, found: Match
) -> Finding:
    if variant.fault == "mask-value" and inverted_numbers(answer.trace):  # both give NaN alone
        variant = next(v for v in MASKS if v.fix == "as-bool")
    place = find_spot(exam, answer, anatomy, variant)
    if variant.fault == "mask-dropped" and _laid_over_queries(exam, place):
        variant = next(v for v in MASKS if v.fault == "mask-axis")
    does = _said(variant, place)
    return Finding(
        fault=variant.fault,
        tensor=place.tensor,
        rule=f"{variant.rule} ({_shapes(anatomy.parts, answer)})",
        seen=f"{does}: these are the code's numbers to {found.error:.0e}; "
        f"the right ones differ by {found.right_error:.1g}",
        fix=replacement(exam, answer, variant, place),
        certainty=Certainty.CERTAIN,
        place=place.place,
    )


def _laid_over_queries(exam: Examination, place: Spot) -> bool:
    """A finite fill over whole rows shifts them, which changes nothing: it looks like no mask."""
    inputs = place.event.inputs if place.event is not None else ()
    roles = {"mask", "lengths", exam.mask_role}
    return any(
        o.value.ndim > 1 and o.shape[-1] == 1 and o.shape[-2] > 1
        for o in inputs
        if o.value.dtype.kind == "b" or (o.origins and o.origins <= roles)
    )


def _said(variant: Variant, place: Spot) -> str:
    """What the code does, with the fill that its line has."""
    fill = place.event.settings.get("fill") if place.event is not None else None
    if variant.fault == "mask-value" and isinstance(fill, int | float):
        return f"hidden scores are filled with {fill:g}, too weak to hide them"
    return variant.does


def _shapes(parts: Parts, answer: Answer) -> str:
    """The probe's sizes, and the weights' shape as the code returns them, where it does."""
    batch, query_len = parts.raw_query.shape[:2]
    key_len, heads = parts.raw_key.shape[1], parts.num_heads
    sizes = f"batch = {batch}, T_dec = {query_len}, T_enc = {key_len}"
    sizes += f", heads = {heads}" if heads > 1 else ""
    if answer.weights is None:
        return sizes
    longer = sorted(size for size in answer.weights.shape if size > 1)
    shapes = [tuple(array.shape) for _, array in arrays(answer.raw)]
    returned = [s for s in shapes if sorted(size for size in s if size > 1) == longer]
    return f"{sizes}; here weights are {returned[0]}" if returned else sizes


def _scale(
    exam: Examination, answer: Answer, anatomy: Anatomy, found: Match, inputs: Inputs
) -> Finding | None:
    """The scale that the numbers show, if it is not the right one."""
    summed = is_additive(exam, anatomy)
    rights = right_scales(exam, anatomy.parts, summed)
    seen = found.scale
    if seen is None or any(abs(seen - right) <= 1e-3 * abs(right) for right in rights):
        return None
    said = named_scale(seen, anatomy, inputs)
    if said is None or (exam.score == "unknown" and exam.scale is None and said == "by nothing"):
        return None
    right = rights[-1]
    width = anatomy.parts.head_dim
    by_width = abs(right - width**-0.5) <= 1e-6 * right
    wanted = f"1/sqrt(d_k) = 1/sqrt({width}) = {right:.4g}" if by_width else f"{right:g}"
    if not by_width and exam.scale is not None:
        wanted += ", as stated"
    variant = Variant(
        "scale",
        f"scores are multiplied {said}",
        f"scores are multiplied by {wanted}",
        "scale",
        lambda s: s,
        "scale",
    )
    made = _finding(exam, answer, anatomy, variant, found)
    line = made.place.code if made.place is not None else ""
    named = _named(line, width, answer)
    fix = scaled_rightly(line, right, width, named) if by_width else rescaled(line, right)
    return replace(made, fix=fix, checks=_felt(said))


def _felt(said: str) -> tuple[str, ...]:
    """The checks that a scale breaks which follows a length: they ask for other lengths."""
    felt = ["sizes-may-coincide", "lengths-are-free", "cached-equals-uncached"]
    if re.search(r"\bT_(?:enc|dec)\b", said):
        return (*felt, "padding-changes-nothing")
    return (*felt, "samples-independent") if re.search(r"\bbatch\b", said) else ()


def used_transposed(
    exam: Examination, anatomy: Anatomy, answer: Answer, found: Match
) -> tuple[Finding, ...]:
    """W of a general score, given as an argument, used as s W^T h where it is square."""
    if exam.score != "general":
        return ()
    for role in ("query", "key"):
        seen = anatomy.projections.get(role)
        weight = exam.parameters().get(seen.parameter) if seen is not None else None
        if seen is None or weight is None or weight.shape != seen.matrix.shape:
            continue
        if weight.ndim != 2 or weight.shape[0] != weight.shape[1]:
            continue
        given = any(re.search(rf"def .*\b{re.escape(seen.parameter)}\b", s) for s in exam.source)
        right = weight if role == "query" else weight.T
        if given and not np.allclose(seen.matrix, right, atol=1e-5):
            raw = anatomy.parts.raw_query if role == "query" else anatomy.parts.raw_key
            model = Model(found.model.parts.with_(**{role: raw @ right}))
            differs = mistake(found.stages, model, Target(answer.weights, answer.context))
            match = replace(found, right_error=differs)
            return (_finding(exam, answer, anatomy, TRANSPOSED, match),)
    return ()
