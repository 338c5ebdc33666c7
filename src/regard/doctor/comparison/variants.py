"""What a known fault is: one stage of the reference, replaced."""

from collections.abc import Callable
from dataclasses import dataclass

from regard.doctor.comparison.reference_model import Parts, Stages
from regard.doctor.tracing.dependence import Array


@dataclass(frozen=True)
class Variant:
    """One known fault: its name, what the code does, the rule, the stages that do it.

    `stage` says where in the trace its line is: score, scale, split, normalize, weigh, merge,
    hide. `fix` is a word for `fixes`, which knows how to rewrite the line.
    """

    fault: str
    does: str
    rule: str
    stage: str
    change: Callable[[Stages], Stages]
    fix: str
    needs: Callable[[Parts], bool] = lambda parts: True


def score_variant(
    fault: str, does: str, rule: str, score: Callable[[Parts, Array, Array], Array], fix: str
) -> Variant:
    """Another score."""
    return Variant(fault, does, rule, "score", lambda s: s.with_(score=score), fix)


def operand_variant(
    change: Callable[[Parts], Parts],
    fault: str,
    does: str,
    rule: str,
    fix: str,
    stage: str = "score",
) -> Variant:
    """Another query, key or value."""
    return Variant(fault, does, rule, stage, lambda s: s.with_(prepare=change), fix)


def normalizer_variant(
    fault: str, does: str, rule: str, form: Callable[[Array], Array], fix: str
) -> Variant:
    """Another step from scores to weights."""
    return Variant(fault, does, rule, "normalize", lambda s: s.with_(normalize=form), fix)
