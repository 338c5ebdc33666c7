"""Every mask, alone and combined, against a plain loop over its cells, and its algebra."""

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard import Mask
from tests.core.plain_masks import (
    SIZES,
    Description,
    Sizes,
    descriptions,
    interval_descriptions,
    made,
    plain_grid,
)

CPU = torch.device("cpu")
SIZED = SIZES.flatmap(lambda sizes: st.tuples(st.just(sizes), descriptions(sizes)))
PAIRS = SIZES.flatmap(lambda sizes: st.tuples(st.just(sizes), *[descriptions(sizes, depth=1)] * 2))
INTERVALS = SIZES.flatmap(
    lambda sizes: st.tuples(
        st.just(sizes), st.lists(interval_descriptions(sizes), min_size=1, max_size=3)
    )
)


@settings(max_examples=100)
@given(SIZED)
def test_a_mask_allows_what_a_plain_loop_allows(drawn: tuple[Sizes, Description]) -> None:
    sizes, description = drawn
    mask, right = made(description, sizes), plain_grid(description, sizes)
    grid = mask.grid_for(sizes, CPU)
    assert grid.dim() == 4
    assert torch.equal(grid.expand(sizes), right)
    shown = mask.dense_for(*sizes[2:])
    shown = shown[:, None] if shown.dim() == 3 else shown
    assert torch.equal(shown.expand(sizes), right)
    hidden = mask.hide(torch.zeros(sizes))
    assert torch.equal(hidden, torch.where(right, 0.0, -math.inf))


@settings(max_examples=100)
@given(PAIRS)
def test_unseen_keys_are_those_that_no_query_sees(
    drawn: tuple[Sizes, Description, Description],
) -> None:
    for sizes, description in _combined(*drawn):
        right = ~plain_grid(description, sizes).any(dim=2)
        unseen = made(description, sizes).unseen_keys(sizes, CPU)
        if unseen is None:
            assert not right.any(), description
        else:
            assert unseen.dim() == 3
            assert torch.equal(unseen.expand(right.shape), right), description


@settings(max_examples=50)
@given(PAIRS)
def test_the_visible_share_is_that_of_the_cells(
    drawn: tuple[Sizes, Description, Description],
) -> None:
    for sizes, description in _combined(*drawn):
        grid = plain_grid(description, sizes)
        share = made(description, sizes).visible_share(*sizes[2:])
        assert share == int(grid.sum()) / grid.numel(), description


def _combined(
    sizes: Sizes, one: Description, other: Description
) -> Iterator[tuple[Sizes, Description]]:
    """The mask itself, and every way to combine it with another."""
    for description in (one, ("not", one), ("and", one, other), ("or", one, other)):
        yield sizes, description


@settings(max_examples=100)
@given(INTERVALS)
def test_intervals_hold_the_cells_of_lengths_bands_and_their_intersections(
    drawn: tuple[Sizes, list[Description]],
) -> None:
    sizes, (description, *others) = drawn
    for other in others:
        description = ("and", description, other)
    right = plain_grid(description, sizes)
    intervals = made(description, sizes).intervals(sizes, CPU)
    assert intervals is not None
    start, stop = (t.expand(sizes[:3])[..., None] for t in intervals)
    keys = torch.arange(sizes[3])
    assert torch.equal((start <= keys) & (keys < stop), right)
    assert (start >= 0).all()
    assert (start <= stop).all()
    assert (stop <= sizes[3]).all()


@settings(max_examples=100)
@given(PAIRS)
def test_the_laws_of_the_algebra(drawn: tuple[Sizes, Description, Description]) -> None:
    sizes, *both = drawn
    one, other = (made(description, sizes) for description in both)
    for left, right in (
        (~(one & other), ~one | ~other),
        (~(one | other), ~one & ~other),
        (~~one, one),
        (one & other, other & one),
        (one | other, other | one),
        (one & (one | other), one),
        (one & one, one),
    ):
        assert torch.equal(_shown(left, sizes), _shown(right, sizes))


def _shown(mask: Mask, sizes: Sizes) -> Tensor:
    grid = mask.dense_for(*sizes[2:])
    return (grid[:, None] if grid.dim() == 3 else grid).expand(sizes)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_answers_have_the_leading_axes_of_the_scores(rank: int) -> None:
    shape = (1, 1, 3, 5)[4 - rank :]
    lead = rank - 2
    for mask in (
        Mask.lengths([2]),
        Mask.window(0, 0, align="end"),
        Mask.segments([1, 2, 3], [3, 2, 1, 0, 0]),
        Mask.dense(torch.zeros(3, 5, dtype=torch.bool)),
    ):
        unseen = mask.unseen_keys(shape, CPU)
        assert unseen is not None
        assert unseen.shape == (1,) * lead + (5,)
        assert mask.grid_for(shape, CPU).dim() == rank
    intervals = (Mask.lengths([2]) & Mask.causal("end")).intervals(shape, CPU)
    assert intervals is not None
    assert [t.shape for t in intervals] == [(1,) * lead + (3,)] * 2


def test_without_queries_no_key_is_seen() -> None:
    for mask in (Mask.causal("end"), Mask.lengths([4]), Mask.segments([], [1] * 4)):
        unseen = mask.unseen_keys((1, 0, 4), CPU)
        assert unseen is not None
        assert unseen.all()
        assert mask.visible_share(0, 4) == 0.0


def test_without_keys_or_examples_there_is_nothing_to_see() -> None:
    for mask, shape in (
        (Mask.causal("end") & Mask.lengths([0]), (1, 2, 0)),
        (Mask.lengths([[0, 0]]) & Mask.window(1, 1, align="end"), (1, 2, 0)),
        (Mask.lengths([]), (0, 2, 3)),
        (Mask.segments(torch.zeros(0, 2).long(), [0] * 3), (0, 2, 3)),
        (Mask.lengths(torch.zeros(0, 2).long()) & Mask.causal("end"), (0, 2, 3)),
    ):
        assert mask.grid_for(shape, CPU).expand(shape).numel() == 0
        unseen = mask.unseen_keys(shape, CPU)
        assert unseen is not None
        assert unseen.expand(*shape[:-2], shape[-1]).numel() == 0
        assert mask.visible_share(*shape[-2:]) == 0.0
