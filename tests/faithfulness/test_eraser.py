"""Comprehensiveness and sufficiency, worked by hand on planted decisions."""

import torch

from regard.faithfulness.eraser import erase_inputs
from regard.faithfulness.orders import random_order
from tests.faithfulness.planted import Planted, generator


def test_planted_inputs_are_needed_and_enough():
    decisions = Planted.found()
    erased = erase_inputs(decisions, decisions.weights, "deleted")
    assert erased.comprehensiveness.min() > 0.9
    assert erased.sufficiency.abs().max() < 0.01


def test_the_mean_is_over_the_five_shares():
    # 4 positions: 1, 5, 10 and 20 % are one position, 50 % are two. Ranked second, the planted one
    # is needed only by the last and is enough only for the last.
    may_attend = torch.ones(1, 4, dtype=torch.bool)
    scores = torch.tensor([[0.0, 0.0, 50.0, 0.0]])
    decisions = Planted(scores, may_attend, torch.tensor([2]), share=1.0)
    erased = erase_inputs(decisions, torch.tensor([[4.0, 2.0, 3.0, 1.0]]), "deleted")
    right, wrong = torch.tensor([8.0, 0.0, 0.0]).softmax(0)[:2]
    torch.testing.assert_close(erased.comprehensiveness, (right - wrong)[None] / 5)
    torch.testing.assert_close(erased.sufficiency, (right - wrong)[None] * 4 / 5)


def test_one_position_is_left_on_either_side():
    may_attend = torch.tensor([[True, True, False]])
    decisions = Planted(torch.tensor([[9.0, 0.0, 0.0]]), may_attend, torch.tensor([0]), share=1.0)
    kept = []
    decisions.respond_without = lambda keep, how: (
        kept.append((keep.tolist(), how)) or decisions.respond(decisions.weights)
    )
    erase_inputs(decisions, decisions.weights, "masked")
    assert kept == [([[False, True, False]], "masked"), ([[True, False, False]], "masked")]


def test_where_attention_is_bypassed_weights_are_no_better_than_chance():
    decisions = Planted.bypassed(rows=400)
    erased = [
        erase_inputs(decisions, importance, "deleted")
        for importance in (decisions.weights, random_order(decisions.may_attend, generator()))
    ]
    for by_weight, by_chance in zip(*erased, strict=True):
        assert abs(float((by_weight - by_chance).mean())) < 0.06
