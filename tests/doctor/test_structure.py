"""The checks of structure: each is silent on right code and speaks on the broken twin."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.doctor.binding.bound import BoundExamination, examine
from regard.doctor.checks import structure
from regard.doctor.diagnosis import diagnose_examination
from regard.doctor.symptoms import Symptom


def dropped(query: Tensor, key: Tensor, value: Tensor, padding_mask: Tensor) -> Any:
    """padding_mask: (batch, key_len), True where padded."""
    scores = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5
    scores.masked_fill(padding_mask[:, None], float("-inf"))
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


def weak(query: Tensor, key: Tensor, value: Tensor, padding_mask: Tensor) -> Any:
    """padding_mask: (batch, key_len), True where padded."""
    scores = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(padding_mask[:, None], 1e-9)
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


def finite(query: Tensor, key: Tensor, value: Tensor, padding_mask: Tensor) -> Any:
    """padding_mask: (batch, key_len), True where padded."""
    scores = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(padding_mask[:, None], -1e4)
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


def viewed(query: Tensor, key: Tensor, value: Tensor) -> Any:
    turned = key.reshape(key.shape[0], key.shape[2], key.shape[1])
    weights = torch.softmax(query @ turned / query.shape[-1] ** 0.5, -1)
    return weights @ value, weights


def right(query: Tensor, key: Tensor, value: Tensor, padding_mask: Tensor) -> Any:
    """padding_mask: (batch, key_len), True where padded."""
    batch, length, width = key.shape
    turned = key.reshape(batch * length, width).reshape(batch, length, width).transpose(1, 2)
    scores = query @ turned / width**0.5
    scores = scores.masked_fill(padding_mask[:, None], float("-inf"))
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


def symptoms(function: Any) -> Iterator[Symptom]:
    exam = examine(function)
    assert isinstance(exam, BoundExamination)
    for check in structure.CHECKS:
        yield from (found for found in check.look(exam) if isinstance(found, Symptom))


@pytest.mark.parametrize(
    ("function", "name", "fault", "code"),
    [
        (dropped, "masks-are-used", "mask-dropped", "scores.masked_fill(padding_mask"),
        (weak, "fill-hides", "mask-value", "scores = scores.masked_fill("),
        (viewed, "axes-keep-their-meaning", "reshape-for-transpose", "turned = key.reshape("),
    ],
)
def test_the_fault_is_seen_at_its_line(function: Any, name: str, fault: str, code: str):
    (found,) = symptoms(function)
    assert (found.check, found.causes[0]) == (name, fault)
    assert found.event is not None
    assert found.event.place is not None
    assert found.event.place.code.startswith(code)


def test_right_code_shows_nothing():
    assert not list(symptoms(right))


def test_a_fill_that_only_huge_scores_undercut_is_a_note_and_no_fault():
    findings, notes, _ = diagnose_examination(examine(finite))
    assert not findings
    (note,) = (said for said in notes if "filled with" in said)
    assert "where real scores are near -1e4, a hidden position gets weight" in note
