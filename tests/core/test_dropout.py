"""Dropout is a function of a seed and a position, and of nothing else."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from regard import Mask, attend
from regard.core.dropout import draw_seed, keep_mask
from tests.core.cases import Sizes, gradients, make_case

SEED = torch.tensor(20260101)


def kept_in_plain_integers(seed: int, *at: int, dropout_p: float) -> bool:
    """The same hash, written with Python's unbounded integers."""

    def mix(x: int) -> int:
        x = (x ^ (x >> 16)) * 0x7FEB352D % 2**32
        x = (x ^ (x >> 15)) * 0x846CA68B % 2**32
        return x ^ (x >> 16)

    state = mix(seed)
    for index in at:
        state = mix(state ^ index)
    return state >= dropout_p * 2**32


def test_each_cell_can_be_computed_alone() -> None:
    whole = keep_mask(SEED, 2, 3, 4, 5, 0.4)
    for at in product(range(2), range(3), range(4), range(5)):
        assert whole[at] == kept_in_plain_integers(int(SEED), *at, dropout_p=0.4)


@pytest.mark.parametrize("dropout_p", [0.01, 0.1, 0.5, 0.9])
def test_cells_are_kept_at_the_rate_asked_for(dropout_p: float) -> None:
    keep = keep_mask(SEED, 4, 5, 50, 100, dropout_p).double()
    spread = (dropout_p * (1 - dropout_p) / keep.numel()) ** 0.5
    assert abs(keep.mean() - (1 - dropout_p)) < 4 * spread


def test_neighbours_on_every_axis_are_independent() -> None:
    keep = keep_mask(SEED, 20, 20, 20, 20, 0.5).double() - 0.5
    for axis in range(4):
        product_ = keep.narrow(axis, 0, 19) * keep.narrow(axis, 1, 19)
        assert abs(product_.mean()) < 4 * 0.25 / product_.numel() ** 0.5
    other = keep_mask(SEED + 1, 20, 20, 20, 20, 0.5).double() - 0.5
    assert abs((keep * other).mean()) < 4 * 0.25 / keep.numel() ** 0.5


def test_rows_and_columns_vary_as_coin_tosses_do() -> None:
    keep = keep_mask(SEED, 1, 1, 400, 400, 0.5)[0, 0].double()
    for axis in (0, 1):
        assert 0.75 < keep.sum(dim=axis).var() / 100 < 1.25


def test_the_torch_seed_decides_the_result() -> None:
    case = make_case("additive", Sizes(heads=3))
    found = []
    for seed in (7, 7, 8):
        torch.manual_seed(seed)
        context = attend(*case[:3], score=case.score, dropout_p=0.3).context
        found.append((context, *gradients(context.sum(), case.leaves)))
    assert_close(found[0], found[1], rtol=0.0, atol=0.0)
    assert not torch.equal(found[0][0], found[2][0])


def test_one_call_after_another_drops_other_cells() -> None:
    assert draw_seed() != draw_seed()


def test_without_dropout_no_random_number_is_drawn() -> None:
    case = make_case("dot")
    before = torch.get_rng_state()
    attend(*case[:3], score=case.score, need_weights=True)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("heads", [None, 1, 3])
def test_the_backward_drops_the_cells_that_the_forward_dropped(heads: int | None) -> None:
    case = make_case("scaled_dot", Sizes(heads=heads))

    def dropped(*qkv: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(5)
        return attend(*qkv, dropout_p=0.4, may_attend=Mask.lengths([5, 3])).context

    assert torch.autograd.gradcheck(dropped, case[:3], fast_mode=True)


def test_heads_and_examples_drop_other_cells() -> None:
    keep = keep_mask(SEED, 2, 2, 6, 7, 0.5)
    assert len({tuple(keep[b, h].flatten().tolist()) for b in (0, 1) for h in (0, 1)}) == 4


def test_dropped_weights_are_unbiased() -> None:
    query, key = torch.zeros(1000, 1, 2), torch.zeros(1000, 4, 2)
    value = torch.eye(4).expand(1000, 4, 4)
    torch.manual_seed(0)
    contexts = attend(query, key, value, dropout_p=0.25).context
    assert_close(contexts.mean(0), torch.full((1, 4), 0.25), rtol=0.0, atol=0.02)
