"""Erasure: in order of importance, renormalized, until the decision flips."""

import torch

from regard.faithfulness.erasure import erase, flip_one, share_until_flip
from regard.faithfulness.orders import random_order, ranks, weight_gradient
from tests.faithfulness.planted import Planted, generator


def test_the_rest_is_renormalized():
    weights = torch.tensor([[0.5, 0.3, 0.2, 0.0], [0.1, 0.1, 0.2, 0.6]])
    keep = torch.tensor([[False, True, True, True], [True, True, True, False]])
    expected = torch.tensor([[0.0, 0.6, 0.4, 0.0], [0.25, 0.25, 0.5, 0.0]])
    torch.testing.assert_close(erase(weights, keep), expected)


def test_erasing_nothing_changes_no_bit():
    weights = torch.rand(50, 9).softmax(-1)
    keep = torch.ones(50, 9, dtype=torch.bool)
    assert erase(weights, keep).equal(weights)
    decisions = Planted.found()
    erased = erase(decisions.weights, decisions.may_attend)
    assert decisions.respond(erased).equal(decisions.respond(decisions.weights))


def test_erasing_all_leaves_no_weight():
    keep = torch.zeros(2, 3, dtype=torch.bool)
    assert (erase(torch.full((2, 3), 1 / 3), keep) == 0).all()


def test_ranks_put_the_most_important_first_and_the_hidden_last():
    importance = torch.tensor([[0.1, 9.0, 0.5, 0.3]])
    may_attend = torch.tensor([[True, False, True, True]])
    assert ranks(importance, may_attend).tolist() == [[2, 3, 0, 1]]


def test_in_order_of_weight_one_position_flips_a_planted_decision():
    decisions = Planted.found()
    lengths = decisions.may_attend.sum(-1)
    for importance in (decisions.weights, weight_gradient(decisions)):
        torch.testing.assert_close(share_until_flip(decisions, importance), 1 / lengths)


def test_in_reverse_order_it_stands_until_one_is_left():
    decisions = Planted.found()
    assert (share_until_flip(decisions, -decisions.weights) == 1).all()


def test_at_random_the_planted_position_comes_up_anywhere():
    decisions = Planted.found(rows=400)
    share = share_until_flip(decisions, random_order(decisions.may_attend, generator()))
    lengths = decisions.may_attend.sum(-1).float()
    # the planted one is erased as number 1 to n, each as likely; as the last it is left: 1
    expected = ((lengths + 1) / 2 / lengths).mean()
    assert abs(share.mean() - expected) < 0.04


def test_where_attention_is_bypassed_no_erasure_flips():
    decisions = Planted.bypassed()
    assert (share_until_flip(decisions, decisions.weights) == 1).all()
    assert (weight_gradient(decisions).abs() < 1e-6).all()


def test_the_flip_table_of_planted_decisions_is_only_the_largest():
    flips = flip_one(Planted.found(), generator())
    table = {name: float(rows.mean()) for name, rows in flips.table().items()}
    assert table == {
        "both": 0.0,
        "only the largest": 1.0,
        "only the random one": 0.0,
        "neither": 0.0,
    }
    assert flips.divergence_gain.min() > 0.3


def test_the_flip_table_of_bypassed_decisions_is_neither():
    table = flip_one(Planted.bypassed(), generator()).table()
    assert float(table["neither"].mean()) == 1.0


def test_the_slope_of_a_weight_is_that_of_the_decided_probability():
    decisions = Planted.found(rows=3)
    slope = weight_gradient(decisions)
    step = 1e-3
    for key in range(4):
        moved = decisions.weights.clone()
        moved[:, key] += step
        back = decisions.weights.clone()
        back[:, key] -= step
        decided = decisions.respond(decisions.weights).argmax(-1, keepdim=True)
        probs = [decisions.respond(w).exp().gather(-1, decided)[:, 0] for w in (moved, back)]
        torch.testing.assert_close(
            slope[:, key], (probs[0] - probs[1]) / (2 * step), rtol=0.02, atol=1e-3
        )
