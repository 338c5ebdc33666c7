"""What would be right: the stages and parts of every reading of the examined code."""

import numpy as np

from regard.doctor.comparison.anatomy import Anatomy
from regard.doctor.comparison.causal_variants import causal
from regard.doctor.comparison.match import Right
from regard.doctor.comparison.reference_model import (
    Bools,
    Model,
    Parts,
    Stages,
    additive,
    additive_relu,
    dot,
)
from regard.doctor.examination import Examination
from regard.doctor.probe import Inputs


def is_additive(exam: Examination, anatomy: Anatomy) -> bool:
    """Whether the right score is additive; where nobody said, a v and a tanh or relu tell."""
    if anatomy.parts.vector is None:
        return False
    if exam.score in ("additive", "concat"):
        return True
    return exam.score == "unknown" and bool(anatomy.squashing)


def right_scales(exam: Examination, parts: Parts, additive_score: bool) -> list[float]:
    """The factors that are right: the one stated, or each that the score allows."""
    if exam.scale is not None:
        return [exam.scale]
    root = float(parts.head_dim) ** -0.5
    if exam.score == "scaled_dot":
        return [root]
    if additive_score or exam.score in ("dot", "general"):
        return [1.0]
    return [1.0, root]


def visible(inputs: Inputs) -> list[Bools | None]:
    """Every reading of who may look at what: with causal, either alignment."""
    batch, query_len = inputs.query.shape[:2]
    key_len = inputs.keys.shape[1]
    may = inputs.may_attend
    if not inputs.causal:
        return [may]
    found: list[Bools | None] = []
    for shift in dict.fromkeys((0, key_len - query_len)):
        plane = np.broadcast_to(causal(query_len, key_len, shift), (batch, query_len, key_len))
        found.append(plane if may is None else plane & may)
    return found


def rights(
    exam: Examination, anatomy: Anatomy, inputs: Inputs, *, masked: bool = False
) -> list[Right]:
    """Every reading on this input. `masked`: with a mask, of full lengths where none is given."""
    return [
        Right(stages, model)
        for model in models(anatomy, inputs, masked=masked)
        for stages in _stages(exam, anatomy)
    ]


def models(anatomy: Anatomy, inputs: Inputs, *, masked: bool = False) -> list[Model]:
    """One for each way in which the code's projections and its mask can be read."""
    found = []
    for parts in (anatomy.parts, *anatomy.wirings):
        for may in visible(inputs):
            if may is None and masked:
                may = np.ones((*parts.raw_query.shape[:2], parts.raw_key.shape[1]), np.bool_)
            found.append(Model(parts.with_(may_attend=may)))
    return found


def _stages(exam: Examination, anatomy: Anatomy) -> list[Stages]:
    summed = is_additive(exam, anatomy)
    scores = [additive] if summed else [dot]
    if summed and exam.score == "unknown" and "relu" in anatomy.squashing:
        scores.append(additive_relu)
    scales = right_scales(exam, anatomy.parts, summed)
    return [Stages(score, scale) for score in scores for scale in scales]
