"""Checks that look at real code: training, caches, and the operation to which a symptom points."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.doctor.binding.bound import BoundExamination, examine
from regard.doctor.checks import CHECKS
from regard.doctor.diagnosis import diagnose_examination
from regard.doctor.symptoms import Symptom


class Cached(nn.Module):
    """Causal self-attention; `past` holds the keys and values of earlier calls."""

    masks_after_past = True

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor, past: Any = None) -> Any:
        q, k, v = self.q(x), self.k(x), self.v(x)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        scores = q @ k.transpose(1, 2) / q.size(-1) ** 0.5
        if past is None or self.masks_after_past:
            future = torch.ones(q.size(1), k.size(1)).triu(1 + k.size(1) - q.size(1)).bool()
            scores = scores.masked_fill(future, float("-inf"))
        return scores.softmax(-1) @ v, (k, v)


class Unmasked(Cached):
    """Causal self-attention; `past` holds the keys and values of earlier calls."""

    masks_after_past = False


class Dropping(nn.Module):
    """Scaled dot product attention."""

    def __init__(self, dropout: float = 0.5) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
        weights = self.weights(query @ key.transpose(1, 2) / query.size(-1) ** 0.5)
        return self.dropout(weights) @ value, weights

    def weights(self, scores: Tensor) -> Tensor:
        return scores.softmax(-1)


class DroppedScores(Dropping):
    """Scaled dot product attention."""

    def weights(self, scores: Tensor) -> Tensor:
        return self.dropout(scores).softmax(-1)


class SharperInTraining(Dropping):
    """Scaled dot product attention."""

    def weights(self, scores: Tensor) -> Tensor:
        return (2 * scores if self.training else scores).softmax(-1)


class AlwaysDropping(Dropping):
    """Scaled dot product attention."""

    def weights(self, scores: Tensor) -> Tensor:
        return nn.functional.dropout(scores.softmax(-1), 0.5)


def first_state(query: Tensor, key: Tensor, value: Tensor) -> Any:
    """Dot-product attention."""
    state = query[0]
    weights = torch.softmax(state @ key.transpose(1, 2), -1)
    return weights @ value, weights


def bound(code: Any) -> BoundExamination:
    exam = examine(code)
    assert isinstance(exam, BoundExamination)
    return exam


def symptoms(code: Any, *names: str) -> dict[str, Symptom]:
    exam = bound(code)
    found = [said for check in CHECKS if check.name in names for said in check.look(exam)]
    return {said.check: said for said in found if isinstance(said, Symptom)}


TRAINING = ("dropout-alone", "dropout-on-weights", "weights-before-dropout")


@pytest.mark.parametrize(
    ("sound", "broken", "names", "fault"),
    [
        (Cached, Unmasked, ("cached-equals-uncached",), "mask-dropped"),
        (Dropping, DroppedScores, ("dropout-on-weights",), "dropout"),
        (Dropping, SharperInTraining, ("dropout-alone",), "dropout"),
    ],
)
def test_the_broken_claim_alone_is_seen(
    sound: Callable[..., Any], broken: Callable[..., Any], names: tuple[str, ...], fault: str
) -> None:
    assert symptoms(sound, *names, *TRAINING) == {}
    assert {name: said.causes[0] for name, said in symptoms(broken, *names).items()} == {
        names[0]: fault
    }


def test_random_code_is_examined_with_its_dropout_turned_off() -> None:
    findings, _, checks = diagnose_examination(bound(AlwaysDropping))
    assert [finding.fault for finding in findings] == ["dropout"]
    assert findings[0].place is not None
    assert "nn.functional.dropout" in findings[0].place.code
    assert "keys-permute" in {check.name for check in checks if check.outcome == "passed"}


def test_the_line_that_mixes_examples_is_named() -> None:
    findings, _, _ = diagnose_examination(bound(first_state))
    assert findings[0].fault in ("broadcast", "batch-mixing")
    assert findings[0].place is not None
    assert findings[0].place.code == "state = query[0]"
