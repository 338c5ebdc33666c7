"""Shuffled weights: a change where attention decides, none where it is uniform or bypassed."""

import torch

from regard.faithfulness.permutation import permute, shuffled
from tests.faithfulness.planted import Planted, generator


def changes(decisions, num_permutations=30):
    return permute(decisions, num_permutations=num_permutations, generator=generator())


def test_where_attention_finds_the_planted_key_shuffling_it_changes_the_output():
    assert changes(Planted.found()).median_change.min() > 0.9


def test_where_weights_are_uniform_it_is_a_no_op():
    assert (changes(Planted.uniform()).median_change == 0).all()  # bit for bit


def test_where_attention_is_bypassed_it_changes_nothing():
    assert changes(Planted.bypassed()).median_change.max() < 1e-6


def test_the_median_is_over_permutations_row_by_row():
    decisions = Planted.found(rows=2, keys=5)
    decisions.weights[1] = decisions.may_attend[1] / decisions.may_attend[1].sum()
    change = changes(decisions).median_change
    assert change[0] > 0.9
    assert change[1] == 0


def test_a_shuffle_keeps_each_rows_weights_and_hidden_positions_get_none():
    numbers = torch.tensor([[0.1, 0.2, 0.7, 0.0], [0.4, 0.0, 0.3, 0.3]])
    may_attend = torch.tensor([[True, True, True, False], [True, False, True, True]])
    seen = set()
    for seed in range(60):
        moved = shuffled(numbers, may_attend, generator(seed))
        assert (moved[~may_attend] == 0).all()
        assert moved.sort(dim=-1).values.equal(numbers.sort(dim=-1).values)
        seen.add(tuple(moved[0].tolist()))
    assert len(seen) == 6  # every order of three comes up
