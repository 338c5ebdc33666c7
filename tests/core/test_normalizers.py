"""masked_softmax against the float64 oracle, and what it must survive."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from regard import Mask, masked_softmax, reference
from regard.core.normalizers import logsumexp, softmax

ROWS = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-1e4, 1e4, width=32), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n),
    )
)


@settings(max_examples=40)
@given(ROWS)
def test_masked_softmax_is_the_oracle_s(row: tuple[list[float], list[bool]]) -> None:
    scores, allowed = np.array(row[0]), np.array(row[1])
    right = reference.softmax(np.where(allowed, scores, -np.inf))
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-6)):
        weights = masked_softmax(torch.tensor(row[0], dtype=dtype)[None], torch.tensor([row[1]]))
        np.testing.assert_allclose(weights[0], right, atol=tolerance)
        assert weights.sum().item() == pytest.approx(float(any(row[1])), abs=1e-5)


@settings(max_examples=30)
@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2**30))
def test_lengths_are_the_oracle_s_lengths(one: int, other: int, seed: int) -> None:
    scores = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(seed)).double()
    weights = masked_softmax(scores, [one, other])
    for row, length in enumerate((one, other)):
        np.testing.assert_allclose(weights[row], reference.masked_softmax(scores[row], length))


def test_minus_fifty_next_to_a_masked_slot_weighs_one() -> None:
    for live in (-50.0, -30.0, -9.0, -1e5):
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            scores = torch.tensor([[live, 0.0]], dtype=dtype)
            weights = masked_softmax(scores, torch.tensor([[True, False]]))
            assert weights.tolist() == [[1.0, 0.0]]
    half = torch.tensor([[-9.0, 0.0]], dtype=torch.float16)
    assert masked_softmax(half, torch.tensor([[True, False]])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf, 1e30])
def test_what_lies_in_a_masked_slot_changes_neither_weights_nor_gradients(junk: float) -> None:
    scores = torch.tensor([[1.0, 2.0, junk]], requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[True, True, False]]))
    assert_close(weights, torch.tensor([[0.2689, 0.7311, 0.0]]), rtol=0.0, atol=1e-4)
    weights[0, 0].backward()
    assert_close(scores.grad, torch.tensor([[0.1966, -0.1966, 0.0]]), rtol=0.0, atol=1e-4)


def test_the_caller_s_scores_are_left_alone() -> None:
    scores = torch.arange(12.0).view(2, 2, 3)
    before = scores.clone()
    for may_attend in (None, [1, 0], torch.zeros(2, 2, 3, dtype=torch.bool)):
        masked_softmax(scores, may_attend)
        assert torch.equal(scores, before)


def test_an_empty_row_is_zero_with_zero_gradient_in_every_dtype() -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        scores = torch.randn(2, 1, 3).to(dtype).requires_grad_()
        weights = masked_softmax(scores, [2, 0])
        assert weights.dtype == dtype
        assert (weights[1] == 0).all()
        (weights**2).sum().backward()
        assert scores.grad is not None
        assert scores.grad.isfinite().all()
        assert (scores.grad[1] == 0).all()


def test_large_scores_of_either_sign_neither_overflow_nor_vanish() -> None:
    for scores in ([1e4, 1e4 - 1], [-1e4, -1e4 - 1], [0.0, -1.0]):
        weights = masked_softmax(torch.tensor([scores]))
        assert_close(weights, torch.tensor([[0.7311, 0.2689]]), rtol=0.0, atol=1e-3)


def test_masked_softmax_takes_masks_of_heads_and_per_query_lengths() -> None:
    scores = torch.zeros(2, 3, 2, 4)
    weights = masked_softmax(scores, Mask.lengths([[1, 2], [3, 4]]) & Mask.causal("end"))
    assert weights[1, :, 0].tolist() == [[pytest.approx(1 / 3)] * 3 + [0.0]] * 3
    weights = masked_softmax(scores, torch.tensor([[1, 2], [3, 4]]))
    assert_close(weights[:, 0, :, 0], torch.tensor([[1.0, 0.5], [1 / 3, 0.25]]))


REFUSED = {
    "whole scores": (torch.ones(2, 3).long(), None, TypeError, "scores has dtype int64.*float()"),
    "one axis": (torch.ones(3), None, ValueError, r"scores has shape \(3,\).*write scores\[None\]"),
    "lengths without a batch": (
        torch.ones(2, 3),
        [1, 2],
        ValueError,
        r"scores \(2, 3\) are \(query, key\), with no batch for 2 lengths.*scores\[:, None, :\]",
    ),
    "float mask": (torch.ones(2, 3), torch.ones(2, 3), TypeError, "whole numbers"),
    "long lengths": (torch.ones(1, 2, 3), [4], ValueError, "longer than the key axis, 3"),
    "bool list": (torch.ones(2, 1, 3), [True, False], TypeError, "bool"),
    "batch mask": (
        torch.ones(2, 4, 3),
        torch.ones(2, 3, dtype=torch.bool),
        ValueError,
        r"may_attend\[:, None, :\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_masked_softmax_refuses(name: str, as_a_user: None) -> None:
    scores, may_attend, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        masked_softmax(scores, may_attend)


def test_softmax_and_logsumexp_of_no_keys_are_zero_and_minus_infinity() -> None:
    scores = torch.zeros(2, 3, 0, requires_grad=True)
    assert softmax(scores).shape == (2, 3, 0)
    assert (logsumexp(scores) == -math.inf).all()
    logsumexp(scores).sum().backward()


def test_softmax_and_logsumexp_are_twice_differentiable_beside_empty_rows() -> None:
    scores = torch.randn(4, 3).double().requires_grad_()
    may_attend = Mask.dense(torch.tensor([[1, 1, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1]]) == 1)
    live = torch.tensor([0, 2, 3])
    for function in (
        lambda s: softmax(may_attend.hide(s)),
        lambda s: logsumexp(may_attend.hide(s))[live],
    ):
        assert torch.autograd.gradcheck(function, scores)
        assert torch.autograd.gradgradcheck(function, scores)
