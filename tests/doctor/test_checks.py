"""The checks on attention of which it is known what is wrong: silent on sound code, else not."""

from collections.abc import Iterator
from typing import Any

import pytest

from regard.doctor.checks import CHECKS
from regard.doctor.symptoms import NotChecked, Symptom
from tests.doctor.fakes import FakeExamination


def symptoms(*only: str, **how: Any) -> dict[str, Symptom]:
    return {said.check: said for said in said_by(*only, **how) if isinstance(said, Symptom)}


def said_by(*only: str, **how: Any) -> Iterator[Symptom | NotChecked]:
    exam = FakeExamination(**how)
    for check in CHECKS:
        if not only or check.name in only:
            yield from check.look(exam)


SOUND: dict[str, dict[str, Any]] = {
    "scaled dot": {},
    "no weights": {"returns_weights": False},
    "additive": {"score": "additive"},
    "self-attention": {"self_attention": True},
    "always causal": {"self_attention": True, "always_causal": True},
    "with dropout": {"dropout": 0.5},
    "finite fill": {"broken": "finite"},
    "ALiBi": {"broken": "position-bias"},
    "ALiBi over itself": {"broken": "position-bias", "self_attention": True},
    "residual": {"broken": "residual"},
    "a Bahdanau step": {"step": True, "convention": "bahdanau"},
    "a Luong step": {"step": True, "convention": "luong", "broken": "token-moves"},
}


@pytest.mark.parametrize("how", SOUND.values(), ids=SOUND.keys())
def test_sound_attention_has_no_symptom(how: dict[str, Any]) -> None:
    assert symptoms(**how) == {}


BROKEN = [
    # broken, the check that sees it, the cause it names first, and how else it is made
    ("softmax-queries", "weights-sum-to-one", "softmax-axis", {}),
    ("softmax-queries", "weights-sum-to-one", "softmax-axis", {"returns_weights": False}),
    ("softmax-batch", "weights-sum-to-one", "softmax-axis", {}),
    ("softmax-batch", "samples-independent", "softmax-axis", {}),
    ("query-ignored", "query-moves-weights", "query-ignored", {}),
    ("no-tanh", "query-moves-weights", "score-formula", {"score": "additive", "source": ()}),
    ("key-ignored", "keys-move-weights", "key-ignored", {}),
    ("view-transpose", "keys-permute", "reshape-for-transpose", {}),
    ("context-mixes-batch", "samples-independent", "batch-mixing", {}),
    ("mask-dropped", "hidden-get-no-weight", "mask-dropped", {}),
    ("mask-dropped", "hidden-do-not-matter", "mask-dropped", {"returns_weights": False}),
    ("mask-dropped", "padding-changes-nothing", "mask-dropped", {}),
    ("polarity", "hidden-get-no-weight", "mask-polarity", {}),
    ("mask-other-sample", "hidden-get-no-weight", "mask-axis", {}),
    ("weak-fill", "hidden-get-no-weight", "mask-value", {}),
    ("weaker-fill", "hidden-get-no-weight", "mask-value", {}),
    ("mask-after", "weights-sum-to-one", "mask-after-softmax", {}),
    ("nan-rows", "empty-row", "empty-row", {"source": ("# lengths may be 0",)}),
    ("nan-gradient", "gradients-finite", "empty-row", {}),
    ("future", "causal-alignment", "causal-alignment", {}),
    ("past-only", "causal-alignment", "causal-alignment", {"self_attention": True}),
    ("future", "causal-alignment", "causal-alignment", {"returns_weights": False}),
    ("from-keys", "context-is-weights-times-value", "context-source", {}),
    ("from-keys", "values-alone-are-averaged", "context-source", {}),
    ("from-query", "context-is-weights-times-value", "context-source", {}),
    ("plain-mean", "context-is-weights-times-value", "context-source", {}),
    ("other-weights", "context-is-weights-times-value", "context-source", {}),
    ("no-exp", "shift-invariance", "score-formula", {}),
    ("exp-without-max", "large-scores-finite", "overflow", {}),
    ("exp-without-max", "large-scores-finite", "overflow", {"score": "additive"}),
    ("eval-dropout", "eval-is-deterministic", "dropout", {}),
    ("dropped-weights", "weights-before-dropout", "returned-weights", {}),
    ("dropout-scores", "weights-before-dropout", "dropout", {}),
    ("in-place", "inputs-unchanged", "in-place", {}),
    ("stale", "second-call-is-fresh", "stale-cache", {}),
    ("detached", "gradients-reach", "gradient", {"score": "additive"}),
    ("nan-parameter", "parameters-finite", "uninitialized", {"score": "additive"}),
    ("rows-moved", "queries-permute", "reshape-for-transpose", {}),
    ("half-product", "half-agrees", "overflow", {}),
    ("refuses-one", "accepts-legal-sizes", "squeeze", {}),
    ("widths-coupled", "widths-are-free", "size-coupling", {"score": "additive"}),
    ("batch-broadcast", "sizes-may-coincide", "broadcast", {}),
    ("squeeze", "sizes-may-coincide", "broadcast", {}),
    ("fixed-length", "lengths-are-free", "size-coupling", {}),
    ("position-coupled", "lengths-are-free", "broadcast", {}),
    ("token-moves", "decoder-timing", "decoder-timing", {"step": True, "convention": "bahdanau"}),
    ("", "decoder-timing", "decoder-timing", {"step": True, "convention": "luong"}),
]


@pytest.mark.parametrize(("broken", "check", "cause", "how"), BROKEN)
def test_a_broken_claim_is_seen(broken: str, check: str, cause: str, how: dict[str, Any]) -> None:
    seen = symptoms(check, broken=broken, **how)
    assert check in seen
    assert seen[check].causes[0] == cause


# Checks that need the operations or the code itself: test_structure, test_checks_of_code.
ELSEWHERE = {
    "masks-are-used",
    "axes-keep-their-meaning",
    "fill-hides",
    "dropout-alone",
    "dropout-on-weights",
    "cached-equals-uncached",
}


def test_every_check_is_named_once_and_seen_to_fail() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert {check for _, check, _, _ in BROKEN} == set(names) - ELSEWHERE
