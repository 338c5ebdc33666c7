"""Positions against the formula of the paper, and what they refuse."""

import math

import pytest
import torch

from regard.layers import LearnedPositions, SinusoidalPositions


@pytest.mark.parametrize("dim", [1, 2, 5, 8])
@pytest.mark.parametrize("first", [0, 3, 5000])
def test_sinusoidal_positions_are_those_of_section_3_5(dim, first):
    x = torch.randn(2, 4, dim, dtype=torch.float64)
    added = SinusoidalPositions(dim)(x, first) - x
    for p in range(4):
        for c in range(dim):
            angle = (first + p) / 10_000 ** (2 * (c // 2) / dim)
            expected = math.cos(angle) if c % 2 else math.sin(angle)
            assert added[:, p, c].tolist() == pytest.approx([expected] * 2, abs=1e-9)


def test_sinusoidal_positions_have_nothing_to_learn_and_no_end():
    positions = SinusoidalPositions(4)
    assert not list(positions.parameters())
    assert not positions.state_dict()
    assert positions(torch.zeros(1, 9999, 4)).isfinite().all()


def test_half_precision_is_that_of_the_input_with_positions_computed_exactly():
    x = torch.zeros(1, 3, 6, dtype=torch.bfloat16)
    added = SinusoidalPositions(6)(x, 10_000)
    assert added.dtype == torch.bfloat16
    exact = SinusoidalPositions(6)(x.double(), 10_000)
    torch.testing.assert_close(added.double(), exact, atol=4e-3, rtol=0)


def test_learned_positions_are_a_row_each_from_the_first_on():
    positions = LearnedPositions(3, max_len=7)
    x = torch.randn(2, 4, 3)
    for first in range(4):
        expected = x + positions.table[first : first + 4].detach()
        torch.testing.assert_close(positions(x, first).detach(), expected, rtol=0, atol=0)
    positions(x, 2).sum().backward()
    assert positions.table.grad[:, 0].tolist() == [0, 0, 2, 2, 2, 2, 0]


REFUSED = {
    "a position that there is not": (
        lambda: LearnedPositions(3, max_len=5)(torch.zeros(2, 4, 3), 2),
        ValueError,
        r"positions 2 to 5 of x \(2, 4, 3\), but max_len=5.*none from 5 on. Build it with "
        r"max_len=6 or more.*sinusoidal",
    ),
    "another width": (
        lambda: LearnedPositions(3, max_len=5)(torch.zeros(2, 4, 2)),
        ValueError,
        r"LearnedPositions: x \(2, 4, 2\). It must be \(batch, position, dim=3\)",
    ),
    "no batch": (
        lambda: SinusoidalPositions(3)(torch.zeros(4, 3)),
        ValueError,
        r"SinusoidalPositions: x \(4, 3\).*x\[None\]",
    ),
    "a width of nothing": (lambda: SinusoidalPositions(0), ValueError, "dim=0"),
    "half a position": (lambda: LearnedPositions(3, max_len=1.5), TypeError, "max_len=1.5"),
}


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what):
    call, kind, text = REFUSED[what]
    with pytest.raises(kind, match=text):
        call()
