"""Faults behind others, in helpers, in bytes; what is none in files and modules of many parts."""

import inspect
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.doctor import diagnose
from regard.doctor.binding.bound import BoundExamination, examine
from regard.doctor.binding.own_part import own_part
from regard.doctor.checks import masking, symmetry
from regard.doctor.comparison.helpers import axis_given
from regard.doctor.comparison.rewrites import inverted_as_bool, mask_filled
from regard.doctor.diagnosis import run_checks
from regard.doctor.findings import CheckResult, Outcome, Report
from regard.doctor.report.terminal import as_text


def drops_and_inverts(q, k, v, padding_mask=None):
    """(batch, length, dim); padding_mask (batch, length) is True at padding."""
    mask = None if padding_mask is None else padding_mask[:, None]
    return F.scaled_dot_product_attention(q, k, v, mask, 0.3)


def drops(q, k, v):
    """(batch, length, dim)"""
    return F.scaled_dot_product_attention(q, k, v, dropout_p=0.3)


def bytes_inverted(query, key, value, mask):
    """mask: uint8 (batch, keys), 1 for real tokens and 0 for padding"""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    hidden = (~mask).bool()
    return scores.masked_fill(hidden[:, None], -1e9).softmax(-1) @ value


def bytes_compared(query, key, value, mask):
    """mask: uint8 (batch, keys), 1 for real tokens and 0 for padding"""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return scores.masked_fill((mask == 0)[:, None], -1e9).softmax(-1) @ value


def _hidden(s: Tensor, m: Tensor) -> Tensor:
    return s.masked_fill(m, float("-inf"))


def _over(s: Tensor, axis: int) -> Tensor:
    return torch.softmax(s, dim=axis)


def inverts_in_a_helper(query, key, value, mask):
    """Scaled dot-product attention. (batch, length, dim); mask (batch, length): True is visible"""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return _hidden(scores, mask[:, None]).softmax(-1) @ value


def another_axis_for_a_helper(query, key, value):
    """Scaled dot-product attention. (batch, length, dim)"""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = _over(scores, axis=1)
    return weights @ value, weights


def nan_gradients(q, k, v, keep):
    """keep (B, Q, K) bool, True = visible. Queries that see nothing get zeros."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = torch.softmax(scores + torch.where(keep, 0.0, float("-inf")), dim=-1)
    return torch.where(torch.isnan(weights), 0.0, weights) @ v


class Projected(nn.Module):
    """Key-value attention; d_k is the width of the projections."""

    def __init__(self, enc_dim, dec_dim, proj):
        super().__init__()
        self.q, self.k = nn.Linear(dec_dim, proj), nn.Linear(enc_dim, proj)
        self.scaling = proj**0.5

    def forward(self, state, encoder_states):
        scores = torch.einsum("bd,btd->bt", self.q(state), self.k(encoder_states)) / self.scaling
        weights = scores.softmax(1)
        return torch.einsum("bt,btd->bd", weights, encoder_states), weights


class LocationAware(nn.Module):
    """Location-aware: a convolution of the weights before, uniform over the lengths at first."""

    def __init__(self, enc_dim, dec_dim, attn_dim):
        super().__init__()
        self.enc, self.dec = nn.Linear(enc_dim, attn_dim), nn.Linear(dec_dim, attn_dim)
        self.conv = nn.Conv1d(1, attn_dim, 3, padding=1, bias=False)
        self.v = nn.Linear(attn_dim, 1, bias=False)

    def forward(self, encoder_states, enc_len, state):
        seen = torch.arange(encoder_states.shape[1]) < enc_len[:, None]
        before = seen / enc_len[:, None].clamp(min=1)
        location = self.conv(before[:, None].to(encoder_states.dtype)).mT
        energy = torch.tanh(self.enc(encoder_states) + self.dec(state)[:, None] + location)
        attn = self.v(energy).squeeze(-1).masked_fill(~seen, float("-inf")).softmax(-1)
        self.prev_attn = attn.detach()
        return (attn[:, None] @ encoder_states).squeeze(1), attn


def test_dropout_in_eval_hides_no_other_fault() -> None:
    findings = diagnose(drops_and_inverts, isolate=False).findings
    assert [f.fault for f in findings] == ["mask-polarity", "dropout"]
    assert [f.fault for f in diagnose(drops, isolate=False).findings] == ["dropout"]


def test_the_inverse_of_bytes_is_true_everywhere() -> None:
    (finding,) = diagnose(bytes_inverted, isolate=False).findings
    assert (finding.fault, finding.tensor) == ("mask-polarity", "hidden")
    assert finding.fix == "hidden = ~mask.bool()"
    assert diagnose(bytes_compared, isolate=False).status == 0


def test_the_fix_of_a_helper_is_in_its_own_names() -> None:
    (finding,) = diagnose(inverts_in_a_helper, isolate=False).findings
    assert finding.fix == 'return s.masked_fill(~m, float("-inf"))'


def test_an_axis_that_a_helper_is_given_is_put_right_where_it_is_given() -> None:
    (finding,) = diagnose(another_axis_for_a_helper, isolate=False).findings
    assert finding.fix == "weights = _over(scores, axis=-1)"
    source = ("def over(s, axis):", "    return s.softmax(dim=axis)")
    assert axis_given(source, 2, "w = over(s, 1)", -1) == "w = over(s, -1)"
    assert axis_given(source, 2, "w = other(s, 1)", -1) is None


def test_rewritten_masks_keep_their_polarity() -> None:
    assert inverted_as_bool("x = (~m).bool()", True) == "x = ~m.bool()"
    assert inverted_as_bool("x = ~m", False) == "x = ~m.astype(bool)"
    right = 's = s.masked_fill(m == 0, float("-inf"))'
    assert mask_filled("s = s + m", "m", False, True) == right
    assert mask_filled("s = s + m", "m", True, True) == right.replace("==", "!=")


def test_a_gradient_that_is_nan_gets_a_test_of_gradients(tmp_path: Path) -> None:
    text = "import torch\n\n\n" + inspect.getsource(nan_gradients)
    (tmp_path / "own.py").write_text(text)
    report = diagnose(f"{tmp_path / 'own.py'}:nan_gradients")
    assert [f.fault for f in report.findings] == ["empty-row"]
    filled = 'scores.masked_fill(~keep, float("-inf"))'
    mended = text.replace('scores + torch.where(keep, 0.0, float("-inf"))', filled)
    names: dict = {}
    exec(report.test_file, names)
    with pytest.raises(AssertionError):
        names["test_empty_row"]()
    (tmp_path / "own.py").write_text(mended)
    names["test_empty_row"]()


def test_an_instance_is_scaled_by_the_width_that_it_compares() -> None:
    exam = examine(Projected(6, 5, 4))
    assert isinstance(exam, BoundExamination)
    assert exam.scale == 0.5


def test_scores_that_feel_the_mask_by_design_are_no_fault() -> None:
    exam = examine(LocationAware(6, 5, 4))
    assert isinstance(exam, BoundExamination)
    symptoms, _, _ = run_checks(exam, (*masking.CHECKS, *symmetry.CHECKS))
    assert symptoms == []


def test_other_classes_of_the_file_are_left_out() -> None:
    source = (
        "STEP = 1", "def used(x):", "    return x", "class Other:", "    '''relative'''",
        "class Base:", "    y = 1", "class Own(Base):", "    z = used(2)",
    )  # fmt: skip
    left = own_part(source, "Own")
    assert [line for line in left if line] == [*source[:3], *source[5:]]
    assert len(left) == len(source)
    assert own_part(source, "absent") == source
    table = (
        "KINDS = {1: Own}",
        "class Own:",
        "    '''own'''",
        "def make():",
        "    return KINDS[1]()",
    )
    assert own_part(table, "make") == table


def test_what_one_reason_keeps_from_being_checked_is_one_line() -> None:
    few = tuple(CheckResult(f"few-{n}", "", Outcome.NOT_CHECKED, "no mask") for n in range(2))
    many = tuple(CheckResult(f"many-{n}", "", Outcome.NOT_CHECKED, "it raises") for n in range(9))
    text = as_text(Report("x", checks=(*few, *many)))
    assert "few-0, few-1: no mask" in text
    assert "9 checks: it raises" in text
    assert "many-0" not in text


def raises_no_shape_error(query, key, value):
    """query, key, value (batch, length, dim)"""
    scores = query @ key.mT
    raise_late = scores.softmax(-1) @ value
    return raise_late.reshape(2, -1, 999)


def test_the_kind_of_an_error_is_said_once() -> None:
    (finding,) = diagnose(raises_no_shape_error, isolate=False).findings
    assert finding.seen.count("RuntimeError") == 1
