"""Distances between distributions, by hand and against SciPy."""

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from regard.faithfulness import jensen_shannon, total_variation

P, Q = torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.25, 0.25, 0.5]])


def test_total_variation_by_hand():
    # (|.5 - .25| + |.5 - .25| + |0 - .5|) / 2
    assert float(total_variation(P.log(), Q.log())) == pytest.approx(0.5)


def test_jensen_shannon_by_hand():
    # the middle is (3/8, 3/8, 1/4)
    middle = -2 * 3 / 8 * math.log(3 / 8) - 1 / 4 * math.log(1 / 4)
    of_p = math.log(2)
    of_q = 2 * 1 / 4 * math.log(4) + 1 / 2 * math.log(2)
    assert float(jensen_shannon(P, Q)) == pytest.approx(middle - (of_p + of_q) / 2, abs=1e-6)


def test_jensen_shannon_is_scipys_squared():
    drawn = torch.distributions.Dirichlet(torch.full((5,), 0.3)).sample((2, 30))
    expected = [jensenshannon(p, q) ** 2 for p, q in zip(*drawn.double().numpy(), strict=True)]
    np.testing.assert_allclose(jensen_shannon(*drawn).numpy(), expected, atol=1e-6)


def test_the_bounds_are_0_and_ln_2():
    certain = torch.eye(3)
    apart = jensen_shannon(certain, certain.roll(1, dims=0))
    torch.testing.assert_close(apart, torch.full((3,), math.log(2)))
    assert (jensen_shannon(P, P) == 0).all()  # bit for bit
    assert (total_variation(Q.log(), Q.log()) == 0).all()


def test_the_slope_is_finite_where_a_weight_is_0():
    weights = torch.tensor([[1.0, 0.0, 0.0]], requires_grad=True)
    jensen_shannon(P, weights).sum().backward()
    assert weights.grad.isfinite().all()
