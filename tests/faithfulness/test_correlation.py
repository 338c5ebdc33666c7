"""Kendall's τ-b: by hand, against SciPy with ties, and its null."""

import math

import pytest
import torch
from scipy.stats import kendalltau

from regard.faithfulness.correlation import exceeds_chance, kendall
from regard.faithfulness.leave_one_out import leave_one_out
from tests.faithfulness.planted import Planted, generator

ALL = torch.ones(1, 4, dtype=torch.bool)


def tau(a, b):
    return float(kendall(torch.tensor([a]), torch.tensor([b]), ALL[:, : len(a)]))


def test_by_hand():
    # of the 6 pairs 5 agree and 1 does not
    assert tau([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0]) == pytest.approx(4 / 6)


def test_by_hand_with_ties():
    # pairs: tied in a: 1, so 5 count; tied in b: 1, so 5 count; of the rest 4 agree, 0 do not
    assert tau([1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 3.0]) == pytest.approx(4 / 5)


def test_it_is_scipys_on_rows_of_every_length_with_many_ties():
    random = generator()
    lengths = torch.randint(2, 12, (60,), generator=random)
    may_attend = torch.arange(11) < lengths[:, None]
    a, b = (torch.randint(0, 5, (60, 11), generator=random).float() for _ in range(2))
    found = kendall(a, b, may_attend)
    for row, length in enumerate(lengths.tolist()):
        expected = kendalltau(a[row, :length].numpy(), b[row, :length].numpy()).statistic
        assert float(found[row]) == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_what_is_all_tied_has_no_correlation():
    assert math.isnan(tau([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))


def test_the_null_is_exceeded_by_about_5_percent_of_unrelated_rows():
    a, b = (torch.rand(600, 9, generator=generator(seed)) for seed in (1, 2))
    may_attend = torch.ones(600, 9, dtype=torch.bool)
    shares = exceeds_chance(a, b, may_attend, num_permutations=99, generator=generator())
    assert 0.03 < float(shares.mean()) < 0.07
    same = exceeds_chance(a, a, may_attend, num_permutations=99, generator=generator())
    assert float(same.mean()) == 1.0


def test_three_positions_can_never_exceed_their_own_null():
    a = torch.rand(50, 3, generator=generator())
    may_attend = torch.ones(50, 3, dtype=torch.bool)
    # two of the six orders are as extreme as perfect agreement
    shares = exceeds_chance(a, a, may_attend, num_permutations=99, generator=generator())
    assert float(shares.mean()) == 0.0


def test_a_row_without_correlation_has_no_significance_either():
    a, b = torch.ones(1, 4), torch.rand(1, 4)
    assert exceeds_chance(a, b, ALL, num_permutations=9, generator=generator()).isnan().all()


def test_only_the_planted_input_is_worth_anything_and_weight_and_gradient_say_so():
    decisions = Planted.found()
    worth = leave_one_out(decisions, "deleted")
    assert worth.argmax(-1).equal(decisions.weights.argmax(-1))
    assert decisions.input_gradient().argmax(-1).equal(decisions.weights.argmax(-1))
    at = worth.argmax(-1, keepdim=True)
    assert worth.gather(-1, at).min() > 0.9
    assert worth.scatter(-1, at, 0.0).max() < 0.05


def test_where_attention_is_bypassed_weights_do_not_rank_what_inputs_are_worth():
    decisions = Planted.bypassed(rows=400)
    worth = leave_one_out(decisions, "deleted")
    assert abs(float(kendall(decisions.weights, worth, decisions.may_attend).nanmean())) < 0.06
    gradient = kendall(decisions.input_gradient(), worth, decisions.may_attend)
    assert float(gradient.nanmean()) > 0.99
