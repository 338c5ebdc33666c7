"""A query that may attend to nothing is absent itself: what it holds reaches nothing."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor

from regard import Mask, attend, scores
from regard.kernels import KERNELS, Kernel
from tests.core.everywhere import only

MASKS = {
    "lengths by query": Mask.lengths([[3, 0, 2], [0, 4, 1]]),
    "dense": Mask.dense(torch.tensor([[1, 1, 0, 1], [0] * 4, [1] * 4]).bool()[None]),
    "causal": Mask.causal("end") & Mask.lengths([0, 3]),
}
BLIND = {
    "lengths by query": [(0, 1), (1, 0)],
    "dense": [(0, 1), (1, 1)],
    "causal": [(0, 0), (0, 1), (0, 2)],
}
SCORES = {
    "scaled_dot": scores.ScaledDot(),
    "general": scores.Bilinear(query_dim=5, key_dim=5).double(),
    "additive": scores.Additive(query_dim=5, key_dim=5, attn_dim=6).double(),
}


def inputs() -> list[Tensor]:
    torch.manual_seed(3)
    shapes = (2, 3, 5), (2, 4, 5), (2, 4, 6)
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_nan_in_a_query_with_nothing_to_attend_to_changes_nothing(
    kernel: Kernel, score: str, name: str, need_weights: bool
) -> None:
    found = []
    for junk in (0.5, math.nan, math.inf):
        leaves = inputs()
        with torch.no_grad():
            for at in BLIND[name]:
                leaves[0][at] = junk
        with only(kernel):
            attended = attend(
                *leaves, score=SCORES[score], may_attend=MASKS[name], need_weights=need_weights
            )
        outputs = [output for output in attended if output is not None]
        leaves += SCORES[score].parameters()
        gradients = torch.autograd.grad(sum(o.sin().sum() for o in outputs), leaves)
        for at in BLIND[name]:
            assert not any(tensor[at].any() for tensor in (*outputs, gradients[0]))
        found.append((*outputs, *gradients))
    for others in found[1:]:
        torch.testing.assert_close(others, found[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("slope", [math.nan, math.inf])
def test_whatever_slope_a_loss_has_at_an_empty_row_changes_nothing(
    kernel: Kernel, score: str, name: str, slope: float
) -> None:
    """A root's or a logarithm's is infinite at the row's 0."""
    found = []
    for at_blind in (0.0, slope):
        leaves = inputs()
        with only(kernel):
            attended = attend(
                *leaves,
                score=SCORES[score],
                may_attend=MASKS[name],
                need_weights=True,
                need_lse=True,
            )
        slopes = [torch.ones_like(output) for output in attended]
        for output, at in product(slopes, BLIND[name]):
            output[at] = at_blind
        leaves += SCORES[score].parameters()
        found.append(torch.autograd.grad(list(attended), leaves, slopes))
    torch.testing.assert_close(found[1], found[0], rtol=1e-12, atol=1e-12)
