"""Numbers that must not matter: a shift of all scores, large scores, half precision."""

import re
from collections.abc import Iterator

import numpy as np

from regard.doctor.checks.asking import (
    ask,
    called,
    check,
    differ,
    differs,
    gap,
    is_self_attention,
    parts,
    percent,
    require,
    stated,
    weights_of,
)
from regard.doctor.checks.masking import scaled
from regard.doctor.examination import Examination
from regard.doctor.symptoms import NotChecked, Symptom
from regard.doctor.tracing.blame import first_infinite

HALF_STATED = re.compile(r"float16|fp16|half[- ]precision|\bhalf\b", re.I)
HALF_TOLERANCE = 0.1  # scores of 20 in float16 are off by .01, and so are their exponentials


def _shift(exam: Examination) -> Iterator[Symptom | NotChecked]:
    bilinear = exam.score in ("dot", "scaled_dot", "general")
    bilinear = bilinear and not {"tanh", "Tanh"} & called(exam)
    require(bilinear, f"no input shifts all scores of a row for the score {exam.score}")
    inputs = exam.inputs()
    require(not is_self_attention(exam, inputs), "a shift of the keys would shift the queries")
    shift = 3 * np.random.default_rng(15).standard_normal(inputs.keys.shape[2])
    before = weights_of(exam, inputs)
    after = weights_of(exam, inputs.with_(key=inputs.keys + shift))
    if differs(before, after, 1e-3):
        said = (
            f"adding one vector to every key changes the weights by {percent(gap(before, after))}"
        )
        causes = ["score-formula", "mask-value", "overflow"]
        if differs(before.sum(-1), np.ones_like(before[..., 0]), 1e-3):
            causes = ["softmax-axis", *causes]
        yield Symptom("shift-invariance", said, tuple(causes))


def _large_scores(exam: Examination) -> Iterator[Symptom | NotChecked]:
    inputs = exam.inputs()
    before = ask(exam, inputs)
    finite = all(np.isfinite(part).all() for _, part, _ in parts(before, before))
    require(finite, "the answer is not finite for ordinary input either")
    for factor in (20.0, 300.0):  # scores of hundreds overflow float32's exp, of 1e5 float64's
        after = ask(exam, scaled(inputs, factor))
        for name, part, _ in parts(after, after):
            if not np.isfinite(part).all():
                said = f"the {name} is not finite for queries and keys times {factor:g}"
                yield Symptom("large-scores-finite", said, ("overflow",))
                return
    yield from _large_parameters(exam)


def _large_parameters(exam: Examination) -> Iterator[Symptom]:
    """The same through the parameters: an additive score is bounded by its last vector."""
    parameters = exam.parameters()
    if exam.score not in ("additive", "concat") or not parameters:
        return
    large = exam.with_parameters({name: 300 * array for name, array in parameters.items()})
    answer = large.ask(exam.inputs())
    for name, part, _ in parts(answer, answer):
        if not np.isfinite(part).all():
            said = f"the {name} is not finite for parameters times 300"
            yield Symptom("large-scores-finite", said, ("overflow",))
            return


def _half(exam: Examination) -> Iterator[Symptom | NotChecked]:
    require("half" in exam.takes, "the code takes no half precision")
    inputs = exam.inputs()
    right, half = ask(exam, scaled(inputs, 0.5)), ask(exam, scaled(inputs, 0.5), half=True)
    for name, one, other in parts(right, half):
        if not np.isfinite(other).all() and np.isfinite(one).all():
            said = f"the {name} is not finite in half precision"
            yield Symptom("half-agrees", said, ("overflow", "mask-value"))
            return
        if differs(one, other, HALF_TOLERANCE):
            said = f"the {differ(name)} by {percent(gap(one, other))} in half precision"
            yield Symptom("half-agrees", said, ("overflow",))
            return
    yield from _half_products(exam)


def _half_products(exam: Examination) -> Iterator[Symptom]:
    """Code made for half precision: products beyond its range whose scaled scores are in it."""
    if exam.score != "scaled_dot" or exam.scale is None or not HALF_STATED.search(stated(exam)):
        return
    inputs = exam.inputs()
    if inputs.query.shape[-1] != inputs.keys.shape[-1]:
        return
    products = np.abs(inputs.query @ inputs.keys.transpose(0, 2, 1)).max()
    large = scaled(inputs, float(np.sqrt(1.2e5 / products)))  # half precision ends at 65504
    answer = exam.ask(large, half=True, trace=True)
    for name, part, _ in parts(answer, answer):
        if not np.isfinite(part).all():
            said = f"in half precision query @ key overflows before it is scaled: {name} hold NaN"
            event = first_infinite(answer.trace)
            yield Symptom("half-agrees", said, ("overflow",), event)
            return


CHECKS = (
    check("shift-invariance", "adding a constant to a row's scores changes nothing", _shift),
    check("large-scores-finite", "large scores give finite weights", _large_scores),
    check("half-agrees", "half precision agrees with single, to its rounding", _half),
)
