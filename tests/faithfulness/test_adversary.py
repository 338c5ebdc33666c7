"""The adversary: near ln 2 where attention is irrelevant, near 0 where it decides."""

import math

import pytest
import torch

from regard.faithfulness import find_adversary, jensen_shannon, total_variation
from tests.faithfulness.planted import Planted, generator


def test_where_attention_is_irrelevant_it_nearly_reaches_ln_2():
    decisions = Planted.bypassed(rows=12)
    found = find_adversary(decisions, generator=generator())
    # the farthest weights are certain of the position that has the least weight
    least = decisions.weights.masked_fill(~decisions.may_attend, 2.0).argmin(-1)
    farthest = torch.nn.functional.one_hot(least, 7).float()
    possible = jensen_shannon(decisions.weights, farthest)
    assert (found.divergence <= possible + 1e-6).all()
    assert (found.divergence > 0.9 * possible).all()


def test_where_one_weight_decides_it_comes_as_far_as_the_bound_allows():
    decisions = Planted.found(rows=12)
    found = find_adversary(decisions, generator=generator(), bound=0.01)
    # The output depends on the planted weight a alone, with P(y) = e^8a / (e^8a + e^8(1 - a) + 1).
    # So it goes down to the a at which P(y) has lost .01, and the rest moves to one position.
    for weights, divergence in zip(decisions.weights.double(), found.divergence, strict=True):
        own = float(weights.max())
        low, high = 0.5, own
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if decided(own) - decided(middle) <= 0.01 else (middle, high)
        other = int(weights.masked_fill(weights == 0, 2.0).argmin())
        farthest = torch.zeros(7, dtype=torch.float64)
        farthest[weights.argmax()], farthest[other] = high, 1 - high
        possible = float(jensen_shannon(weights, farthest))
        assert 0.94 * possible < float(divergence) < 1.001 * possible
    assert found.divergence.max() < 0.12  # ln 2 = .69 would be another look


def decided(weight):
    right, wrong = math.exp(8 * weight), math.exp(8 * (1 - weight))
    return right / (right + wrong + 1)


@pytest.mark.slow
def test_what_it_finds_is_within_the_bound_at_every_bound():
    decisions = Planted.found(rows=12)
    base = decisions.respond(decisions.weights)
    last = torch.zeros(12)
    for bound in (0.0, 0.01, 0.1, 0.5):
        found = find_adversary(decisions, generator=generator(), bound=bound, restarts=2, steps=30)
        change = total_variation(base, decisions.respond(found.weights))
        assert (change <= bound).all()
        torch.testing.assert_close(found.change, change)
        torch.testing.assert_close(
            found.divergence, jensen_shannon(decisions.weights, found.weights)
        )
        torch.testing.assert_close(found.weights.sum(-1), torch.ones(12))
        assert (found.weights[~decisions.may_attend] == 0).all()
        assert found.divergence.mean() >= last.mean() - 1e-3
        last = found.divergence


@pytest.mark.slow
def test_a_larger_bound_lets_it_go_to_the_other_class():
    found = find_adversary(Planted.found(rows=12), generator=generator(), bound=1.0)
    assert found.divergence.min() > 0.6
    assert found.divergence.max() < math.log(2)


def test_it_leaves_no_gradient_behind():
    decisions = Planted.found(rows=3)
    weights = decisions.weights.clone()
    find_adversary(decisions, generator=generator(), restarts=1, steps=2)
    assert decisions.weights.equal(weights)
    assert not decisions.weights.requires_grad


@pytest.mark.parametrize("restarts", [1, 3])
def test_the_same_seed_finds_the_same(restarts):
    both = [
        find_adversary(Planted.found(), generator=generator(), restarts=restarts, steps=5)
        for _ in range(2)
    ]
    assert both[0].weights.equal(both[1].weights)
