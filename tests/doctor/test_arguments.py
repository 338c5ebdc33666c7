"""Arguments that no name explains, statements that put others out of their role, constructors."""

import inspect

import pytest
import torch
from torch import nn

from regard.doctor import diagnose
from regard.doctor.binding.bound import BoundExamination, examine
from regard.doctor.binding.roles import assign


def used_as_mask(query, key, value, valid_tokens=None):
    """Scaled dot-product attention over (batch, length, dim)."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if valid_tokens is not None:
        scores = scores.masked_fill(valid_tokens[:, None], float("-inf"))
    return scores.softmax(-1) @ value


def used_as_lengths(query, key, value, n_real=None):
    """Scaled dot-product attention over (batch, length, dim)."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if n_real is not None:
        seen = torch.arange(key.shape[1]) < n_real[:, None]
        scores = scores.masked_fill(~seen[:, None], float("-inf"))
    return scores.softmax(-1) @ value


def not_understood(query, key, value, gate=None, mode="plain"):
    """Scaled dot-product attention over (batch, length, dim)."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return (scores if gate is None else scores * gate.now).softmax(-1) @ value


def two_masks(query, key, value, key_padding_mask=None, attn_mask=None):
    """Scaled dot-product attention over (batch, length, dim). Masks are True where they hide."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if key_padding_mask is not None:
        scores = scores.masked_fill(key_padding_mask[:, None], float("-inf"))
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask, float("-inf"))
    return scores.softmax(-1) @ value


def asks_with_keys(k, q, v):
    """Dot-product attention over (batch, length, dim): k asks, q answers."""
    return (k @ q.mT).softmax(-1) @ v


class OnlySmall(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model > num_heads:
            raise RuntimeError(f"no more than {num_heads} channels")

    def forward(self, query, key, value):
        return query


def cannot_be_made():
    raise KeyError("no such setting")


def roles(signature, **bind):
    function = eval(f"lambda {signature}: 0")
    slots = assign(inspect.signature(function).parameters, bind, has_embedding=False)
    return {slot.name: slot.role for slot in slots}


def test_an_optional_argument_used_as_a_mask_is_examined_as_one():
    report = diagnose(used_as_mask, mask_true="attends", isolate=False)
    assert [f.fault for f in report.findings] == ["mask-polarity"]
    assert any(line.startswith("mask: valid_tokens") for line in report.assumed)


def test_one_used_as_lengths_is_taken_for_them():
    exam = examine(used_as_lengths)
    assert isinstance(exam, BoundExamination)
    assert (exam.mask_role, "lengths" in exam.takes) == ("n_real", True)


def test_what_is_left_out_of_the_call_is_said():
    exam = examine(not_understood)
    assert isinstance(exam, BoundExamination)
    assert exam.assumed[-2:] == (
        "not examined: gate, left at None (say what it is with --bind, as in --bind mask=gate)",
        "left as it is: mode='plain'",
    )


@pytest.mark.parametrize(
    ("bind", "taken", "left"),
    [
        ({}, "key_padding_mask", "attn_mask"),
        ({"mask": "attn_mask"}, "attn_mask", "key_padding_mask"),
    ],
)
def test_of_two_masks_the_stated_one_is_examined_and_the_other_named(bind, taken, left):
    exam = examine(two_masks, bind=bind)
    assert isinstance(exam, BoundExamination)
    assert exam.mask_role == taken
    told = (
        f"not examined: {left}, left at None (--bind mask={left} examines it in place of {taken})"
    )
    assert told in exam.assumed


@pytest.mark.parametrize(
    ("signature", "bind", "right"),
    [
        ("q, k, v", {"query": "k"}, {"q": "key", "k": "query", "v": "value"}),
        ("a, k, values", {"query": "k"}, {"a": "key", "k": "query", "values": "value"}),
        ("query, key, value", {"value": "key"}, {"query": "query", "key": "value", "value": "key"}),
        ("query, values, n", {"key": "n"}, {"query": "query", "values": "value", "n": "key"}),
    ],
)
def test_what_a_statement_puts_out_takes_the_role_that_is_free(signature, bind, right):
    assert roles(signature, **bind) == right


def test_a_stated_query_is_asked_about_no_more():
    assert diagnose(asks_with_keys, bind={"query": "k"}, isolate=False).status == 0


def test_the_error_of_a_constructor_is_told_with_its_line():
    report = diagnose(OnlySmall, isolate=False)
    line = inspect.getsourcelines(OnlySmall)[1] + 4
    assert report.status == 2
    assert "with d_model=22, num_heads=2, its constructor raised RuntimeError: no more than 2" in (
        report.question
    )
    assert f"{__file__}:{line}: raise RuntimeError" in report.question


def test_the_error_of_a_factory_is_no_fault_of_the_doctor():
    report = diagnose(cannot_be_made, isolate=False)
    assert report.status == 2
    assert f"raised KeyError: 'no such setting' ({__file__}:" in report.question
    assert "the doctor itself" not in report.question
