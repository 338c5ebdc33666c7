"""Which stages give the examined code's numbers: the right ones, or a known fault's."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from regard.doctor.comparison.reference_model import Model, Outcome, Parts, Stages
from regard.doctor.comparison.variants import Variant
from regard.doctor.tracing.dependence import Array

SAME = 3e-5
OTHER = 1e-3

Families = tuple[tuple[Variant, ...], ...]


@dataclass(frozen=True)
class Match:
    """The variants whose stages give the code's numbers; none of them where it is right."""

    variants: tuple[Variant, ...]
    stages: Stages
    model: Model
    error: float  # of these stages
    right_error: float  # of the right ones
    scale: float | None = None  # the scale found, where it is not the right one


@dataclass(frozen=True)
class Target:
    """The code's numbers that the model is to give."""

    weights: Array | None
    context: Array | None


@dataclass(frozen=True)
class Right:
    """One reading of what is right: the stages, and the model that runs them."""

    stages: Stages
    model: Model


def error(ours: Array, theirs: Array) -> float:
    """Largest difference relative to the largest number; infinite where the shapes differ."""
    if ours.shape != theirs.shape:
        return float("inf")
    seen = np.isfinite(theirs)
    if not np.array_equal(np.isfinite(ours), seen):
        return float("inf")
    if not seen.any():
        return 0.0
    largest = max(float(np.abs(theirs[seen]).max()), 1e-12)
    return float(np.abs(ours[seen] - theirs[seen]).max()) / largest


def _of_weights(weights: Array, theirs: Array) -> float:
    if theirs.shape[1] == 1 and weights.shape[1] > 1:
        weights = weights.mean(1, keepdims=True)
    return error(weights, theirs)


def _of_context(outcome: Outcome, theirs: Array) -> float:
    tries = [outcome.output]
    if outcome.context is not outcome.output:
        tries.append(outcome.context)
    if outcome.context.shape[1] == 1:
        tries = [t.reshape(theirs.shape) if t.size == theirs.size else t for t in tries]
    return min(error(each, theirs) for each in tries)


def mistake(stages: Stages, model: Model, target: Target) -> float:
    """How far the stages' weights and context are from the code's."""
    try:
        worst = 0.0
        if target.weights is not None:
            worst = _of_weights(model.weights(stages), target.weights)
        if target.context is not None and worst <= OTHER:
            worst = max(worst, _of_context(model.run(stages), target.context))
    except (ValueError, IndexError, AssertionError):
        return float("inf")
    return worst


def fitted_scale(stages: Stages, model: Model, target: Target) -> float | None:
    """The scale with which the softmax of the scores gives the weights; None where none does."""
    weights = target.weights
    if weights is None or not np.isfinite(weights).all() or (weights < 0).any():
        return None
    try:
        scores = model.scores(stages)
    except (ValueError, IndexError, AssertionError):
        return None
    seen = weights > 1e-12
    if weights.shape != scores.shape or not seen.any() or not np.isfinite(scores).all():
        return None
    count = np.maximum(seen.sum(-1, keepdims=True), 1)
    logs = np.log(np.where(seen, weights, 1.0))
    left = np.where(seen, logs - (logs * seen).sum(-1, keepdims=True) / count, 0.0)
    right = np.where(seen, scores - (scores * seen).sum(-1, keepdims=True) / count, 0.0)
    square = float((right**2).sum())
    return float((left * right).sum() / square) if square > 0 else None


def best(
    rights: Iterable[Right],
    target: Target,
    families: Families,
    *,
    fit_scale: bool = True,
    pairs: bool = True,
) -> Match | None:
    """The right stages, or the fewest variants that give the numbers; None where none do."""
    rights = list(rights)
    errors = [mistake(right.stages, right.model, target) for right in rights]
    nearest = min(errors, default=float("inf"))
    if nearest <= OTHER:
        right = rights[errors.index(nearest)]
        if nearest <= SAME:
            return Match((), right.stages, right.model, nearest, nearest)
        return _closer(rights, target, families, nearest) or Match(
            (), right.stages, right.model, nearest, nearest
        )
    if fit_scale:
        for right in rights:
            found = _scaled((), right, target, nearest)
            if found is not None:
                return found
    for size in (1, 2) if pairs else (1,):
        for chosen in _choices(families, size):
            for right in rights:
                if not all(variant.needs(right.model.parts) for variant in chosen):
                    continue
                changed = right.stages
                for variant in chosen:
                    changed = variant.change(changed)
                wrong = mistake(changed, right.model, target)
                if wrong <= SAME:
                    return Match(chosen, changed, right.model, wrong, nearest)
                if fit_scale and size == 1 and chosen[0].stage != "normalize":
                    here = Right(changed, right.model)
                    found = _scaled(chosen, here, target, nearest)
                    if found is not None:
                        return found
    return None


def _closer(
    rights: list[Right], target: Target, families: Families, nearest: float
) -> Match | None:
    """Nearly right: a variant counts only where it is far nearer (a fill of -10)."""
    for (variant,) in _choices(families, 1):
        for right in rights:
            changed = variant.change(right.stages)
            wrong = mistake(changed, right.model, target)
            if wrong <= min(nearest / 30, SAME / 10):
                return Match((variant,), changed, right.model, wrong, nearest)
    return None


def _scaled(
    chosen: tuple[Variant, ...], right: Right, target: Target, nearest: float
) -> Match | None:
    """The stages with another scale: read off the weights, or where none are given a usual one."""
    scale = fitted_scale(right.stages, right.model, target)
    scales = [scale] if scale is not None else []
    if target.weights is None and not chosen:
        scales = _usual_scales(right.model.parts)
    for scale in scales:
        stages = right.stages.with_(scale=scale)
        if abs(scale) > 1e-6 and (wrong := mistake(stages, right.model, target)) <= SAME:
            return Match(chosen, stages, right.model, wrong, nearest, scale)
    return None


def _usual_scales(parts: Parts) -> list[float]:
    """Scales that people use, right or wrong: for code that gives no weights to read it from."""
    widths = dict.fromkeys((parts.head_dim, parts.query.shape[-1], parts.raw_query.shape[-1]))
    return [1.0, *(width**power for width in widths for power in (-0.5, -1.0, 0.5, 1.0))]


def _choices(families: Families, size: int) -> Iterator[tuple[Variant, ...]]:
    if size == 1:
        for family in families:
            for variant in family:
                yield (variant,)
        return
    for first, second in combinations(families, 2):
        for left in first:
            for right in second:
                if not {left.stage, right.stage} <= {"hide"}:
                    yield (left, right)
