"""Two trainings' weights beside each other."""

import math

import torch

from regard.faithfulness import compare_weights
from tests.faithfulness.planted import generator

MAY_ATTEND = torch.tensor([[True, True, True, False]]).expand(200, 4)
OWN = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).expand(200, 4)


def test_the_same_weights_agree_and_shuffled_ones_do_not():
    agreement = compare_weights(OWN, OWN, MAY_ATTEND, generator())
    assert (agreement.divergence == 0).all()
    assert (agreement.same_top == 1).all()
    # shuffled, the weight is elsewhere in two thirds of the rows, and then ln 2 away
    assert abs(float(agreement.chance.mean()) - math.log(2) * 2 / 3) < 0.06


def test_weights_elsewhere_are_ln_2_away():
    agreement = compare_weights(OWN, OWN.roll(1, dims=1), MAY_ATTEND, generator())
    torch.testing.assert_close(agreement.divergence, torch.full((200,), math.log(2)))
    assert (agreement.same_top == 0).all()
