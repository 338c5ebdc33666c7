"""Zeros where nobody may look: in the numbers, and in every derivative."""

import math

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from regard.core.zero_fill import are_tame, may_hold_junk, zero_where

HIDDEN = torch.tensor([False, True, False])[:, None]  # of three rows


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("junk", [math.nan, math.inf, -0.0, 5.0])
def test_hidden_rows_become_zero_and_the_others_stay(dtype: torch.dtype, junk: float) -> None:
    given = torch.tensor([[1.5, -2.0], [junk, junk], [-0.0, math.inf]], dtype=dtype)
    for tensor in (given, given.mT.contiguous().mT, given.repeat(2, 1, 1)[1]):
        (filled,) = zero_where(HIDDEN, tensor)
        assert filled.tolist() == [[1.5, -2.0], [0.0, 0.0], [0.0, math.inf]]
        assert filled.dtype == dtype
        assert str(filled[2, 0].item()) == "-0.0"  # to the bit


def test_no_gradient_passes_where_hidden_not_even_nan() -> None:
    tensors = [torch.randn(3, 2, requires_grad=True), torch.randn(3, 4, requires_grad=True)]
    filled = zero_where(HIDDEN, *tensors)
    for create_graph in (False, True):
        gradients = torch.autograd.grad(
            filled,
            tensors,
            [torch.full_like(tensor, math.nan) for tensor in filled],
            retain_graph=True,
            create_graph=create_graph,
        )
        for gradient in gradients:
            assert (gradient[1] == 0.0).all()
            assert gradient[[0, 2]].isnan().all()


def test_all_its_derivatives_are_right() -> None:
    tensors = [torch.randn(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(2)]

    def filled(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(tensor.sin() for tensor in zero_where(HIDDEN, *tensors))

    assert gradcheck(filled, tensors)
    assert gradgradcheck(filled, tensors)


def test_a_tensor_without_gradient_beside_one_with_gets_none() -> None:
    wanted, other = torch.randn(3, 2, requires_grad=True), torch.randn(3, 2)
    (gradient,) = torch.autograd.grad(
        sum(t.sum() for t in zero_where(HIDDEN, wanted, other)), wanted
    )
    assert gradient.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own
def test_transforms_pass_through_it() -> None:
    def filled(tensor: torch.Tensor) -> torch.Tensor:
        return zero_where(HIDDEN, tensor)[0]

    given = torch.randn(4, 3, 2)
    by_hand = given.clone()
    by_hand[:, 1] = 0.0
    torch.testing.assert_close(torch.vmap(filled)(given), by_hand)
    of_sum = torch.func.grad(lambda tensor: filled(tensor).sum())(given[0])
    assert of_sum.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    _, tangent = torch.func.jvp(filled, (given[0],), (torch.ones(3, 2),))
    assert tangent.tolist() == of_sum.tolist()


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
def test_one_sum_tells_what_may_hold_junk(junk: float) -> None:
    tensor = torch.randn(5, 3)
    assert not may_hold_junk(tensor)
    tensor[2, 1] = junk
    assert may_hold_junk(tensor)


@pytest.mark.parametrize("number", [0.0, 1e6, -1e6])
def test_finite_and_small_numbers_are_tame(number: float) -> None:
    tensor = torch.full((2, 3, 5), number)
    assert are_tame(tensor, torch.ones(2), torch.empty(0))
    assert are_tame(tensor.mT)  # not contiguous


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1.1e6, -3e38])
@pytest.mark.parametrize("place", [0, 7, -1])
def test_one_number_that_a_product_may_not_meet_is_found(number: float, place: int) -> None:
    tensor = torch.ones(2, 3, 5)
    tensor.view(-1)[place] = number
    assert not are_tame(torch.ones(2), tensor)
    assert not are_tame(tensor.mT)
