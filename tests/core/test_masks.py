"""Masks against a triple loop; their algebra; everything they refuse, with the fix."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard import Mask
from regard.core.masks import as_mask

ONES = torch.ones(3, 5, dtype=torch.bool)


def descriptions(sizes: tuple[int, ...], depth: int = 2) -> st.SearchStrategy:  # type: ignore[type-arg]
    """A mask in words and numbers, from which both the mask and the plain loop are made."""
    batch, heads, query_len, key_len = sizes
    length = st.integers(0, key_len)
    per_query = st.lists(length, min_size=query_len, max_size=query_len)

    def grids(shape: tuple[int, int, int]) -> st.SearchStrategy:  # type: ignore[type-arg]
        cells = st.integers(0, 2 ** (shape[0] * shape[1] * shape[2] * key_len) - 1)
        return st.tuples(st.just("dense"), st.just((*shape, key_len)), cells)

    axes = st.tuples(*(st.sampled_from([1, size]) for size in (batch, heads, query_len)))
    one = st.one_of(
        st.tuples(st.just("lengths"), st.lists(length, min_size=batch, max_size=batch)),
        st.tuples(st.just("per query"), st.lists(per_query, min_size=batch, max_size=batch)),
        st.tuples(st.just("start")),
        st.tuples(st.just("end")),
        axes.flatmap(grids),
    )
    if depth == 0:
        return one
    smaller = descriptions(sizes, depth - 1)
    return st.one_of(
        one,
        st.tuples(st.just("not"), smaller),
        st.tuples(st.just("and"), smaller, smaller),
        st.tuples(st.just("or"), smaller, smaller),
    )


def made(description: tuple) -> Mask:  # type: ignore[type-arg]
    match description:
        case ("lengths" | "per query", lengths):
            return Mask.lengths(lengths)
        case ("start" | "end",):
            return Mask.causal(description[0])
        case ("dense", shape, cells):
            bits = [cells >> i & 1 for i in range(math.prod(shape))]
            return Mask.dense(torch.tensor(bits).view(shape) == 1)
        case ("not", one):
            return ~made(one)
        case ("and", one, other):
            return made(one) & made(other)
        case ("or", one, other):
            return made(one) | made(other)
    raise NotImplementedError(description)


def allows(description: tuple, sizes: tuple[int, ...], at: tuple[int, ...]) -> bool:  # type: ignore[type-arg]
    """What the description means at one (batch, head, query, key)."""
    b, _, q, k = at
    match description:
        case ("lengths", lengths):
            return k < lengths[b]
        case ("per query", lengths):
            return k < lengths[b][q]
        case ("start",):
            return k <= q
        case ("end",):  # counted from the last query and the last key
            return sizes[2] - q <= sizes[3] - k
        case ("dense", shape, cells):
            cell = 0
            for index, size in zip(at, shape, strict=True):
                cell = cell * size + (index if size > 1 else 0)
            return bool(cells >> cell & 1)
        case ("not", one):
            return not allows(one, sizes, at)
        case ("and", one, other):
            return allows(one, sizes, at) and allows(other, sizes, at)
        case ("or", one, other):
            return allows(one, sizes, at) or allows(other, sizes, at)
    raise NotImplementedError(description)


SIZED = st.tuples(*(st.integers(1, 3) for _ in range(4))).flatmap(
    lambda sizes: st.tuples(st.just(sizes), descriptions(sizes), descriptions(sizes))
)


@settings(max_examples=20)
@given(SIZED)
def test_a_mask_allows_what_a_plain_loop_allows(drawn: tuple) -> None:  # type: ignore[type-arg]
    sizes, description, _ = drawn
    mask = made(description)
    grid = mask.grid_for(sizes, torch.device("cpu"))
    assert grid.dim() == 4
    shown = mask.dense_for(*sizes[2:])
    shown = shown[:, None] if shown.dim() == 3 else shown
    hidden = mask.hide(torch.zeros(sizes))
    cells = product(*map(range, sizes))
    right = torch.tensor([allows(description, sizes, at) for at in cells]).view(sizes)
    assert torch.equal(grid.expand(sizes), right)
    assert torch.equal(shown.expand(sizes), right)
    assert torch.equal(hidden, torch.where(right, 0.0, -math.inf))


@settings(max_examples=20)
@given(SIZED)
def test_the_opposite_of_both_is_either_of_the_opposites(drawn: tuple) -> None:  # type: ignore[type-arg]
    sizes, one, other = drawn
    one, other = made(one), made(other)
    assert _same(~(one & other), ~one | ~other, sizes)
    assert _same(~~one, one, sizes)
    assert _same(one & other, other & one, sizes)


def _same(one: Mask, other: Mask, sizes: tuple[int, ...]) -> bool:
    grids = (mask.grid_for(sizes, torch.device("cpu")).expand(sizes) for mask in (one, other))
    return torch.equal(*grids)


def shown(mask: Mask, query_len: int, key_len: int) -> list:  # type: ignore[type-arg]
    return mask.dense_for(query_len, key_len).int().tolist()


def test_lengths_allow_the_first_keys() -> None:
    assert shown(Mask.lengths([2, 0]), 1, 3) == [[[1, 1, 0]], [[0, 0, 0]]]


def test_lengths_may_differ_from_query_to_query() -> None:
    assert shown(Mask.lengths([[1, 3], [0, 2]]), 2, 3) == [
        [[1, 0, 0], [1, 1, 1]],
        [[0, 0, 0], [1, 1, 0]],
    ]


@pytest.mark.parametrize(
    "lengths",
    [
        [2, 3],
        (2, 3),
        torch.tensor([2, 3]),
        torch.tensor([2, 3], dtype=torch.int32),
        torch.tensor([2, 3], dtype=torch.uint8),
        torch.tensor([2, 3], dtype=torch.uint16),
        np.array([2, 3]),
    ],
    ids=str,
)
def test_lengths_may_come_as_any_whole_numbers(lengths: object, as_a_user: None) -> None:
    assert shown(Mask.lengths(lengths), 1, 3) == [[[1, 1, 0]], [[1, 1, 1]]]


def test_causal_from_the_start_puts_query_0_at_key_0() -> None:
    assert shown(Mask.causal("start"), 2, 3) == [[1, 0, 0], [1, 1, 0]]


def test_causal_to_the_end_puts_the_last_query_at_the_last_key() -> None:
    assert shown(Mask.causal("end"), 2, 3) == [[1, 1, 0], [1, 1, 1]]
    assert shown(Mask.causal("end"), 3, 2) == [[0, 0], [1, 0], [1, 1]]


def test_causal_of_equal_lengths_needs_no_alignment() -> None:
    assert shown(Mask.causal(), 3, 3) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_a_size_one_axis_of_a_dense_mask_serves_all() -> None:
    row = torch.tensor([True, True, False])
    for mask in (row[None], row[None, None], row[None, None, None]):
        grid = Mask.dense(mask).grid_for((2, 4, 5, 3), torch.device("cpu"))
        assert torch.equal(grid.expand(2, 4, 5, 3), row.expand(2, 4, 5, 3))


def test_a_dense_mask_of_three_axes_is_of_batch_and_never_of_heads() -> None:
    mask = torch.tensor([[[True, False]], [[True, True]]])  # example 0 hides key 1
    grid = Mask.dense(mask).grid_for((2, 2, 1, 2), torch.device("cpu")).expand(2, 2, 1, 2)
    assert (grid[0, :, 0, 1] == torch.tensor([False, False])).all()
    assert grid[1].all()


def test_a_mask_is_never_copied_per_head_or_query() -> None:
    for mask in (Mask.lengths([3, 5]), Mask.dense(torch.ones(2, 1, 5, dtype=torch.bool))):
        assert mask.grid_for((2, 12, 100, 5), torch.device("cpu")).numel() == 10


def test_a_bool_tensor_joins_a_mask_from_either_side() -> None:
    for joined in (Mask.causal("end") & ONES, ONES & Mask.causal("end")):
        assert shown(joined, 3, 5) == shown(Mask.causal("end"), 3, 5)
    for joined in (Mask.causal("end") | ONES, ONES | Mask.causal("end")):
        assert shown(joined, 3, 5) == ONES.int().tolist()


def test_the_kind_of_a_mask_names_it_in_exactly_one_way() -> None:
    lengths, causal = Mask.lengths([1]), Mask.causal()
    assert (lengths & causal).kind == "lengths&causal"
    assert (~(lengths & causal)).kind == "~(lengths&causal)"
    assert (~lengths & causal).kind == "~lengths&causal"
    assert ((lengths | causal) & causal).kind == "(lengths|causal)&causal"


def test_a_mask_says_what_it_is() -> None:
    mask = ~(Mask.lengths([1, 2]) & Mask.causal("end")) | Mask.dense(ONES)
    assert repr(mask) == "(~(Mask.lengths([1, 2]) & Mask.causal('end')) | Mask.dense((3, 5)))"


REFUSED_WHEN_MADE = {
    "float 0/1": (
        lambda: Mask.dense(ONES.float()),
        TypeError,
        r"float32 and shape \(3, 5\).*must be bool.*may_attend == 0.*may_attend == 1.*pass bias=",
    ),
    "integer 0/1": (
        lambda: Mask.dense(ONES.long()),
        TypeError,
        r"int64.*either polarity. If 1 means may attend, write Mask.dense\(may_attend == 1\)",
    ),
    "uint8": (lambda: Mask.dense(ONES.to(torch.uint8)), TypeError, "uint8.*must be bool"),
    "a list": (lambda: Mask.dense([[True]]), TypeError, "a list, not a torch tensor.*as_tensor"),
    "one axis": (
        lambda: Mask.dense(ONES[0]),
        ValueError,
        r"shape \(5,\). It must be \(query, key\).*may_attend\[:, None, :\]",
    ),
    "five axes": (lambda: Mask.dense(ONES[None, None, None]), ValueError, r"\(1, 1, 1, 3, 5\)"),
    "fractional": (
        lambda: Mask.lengths([2.5, 3]),
        TypeError,
        r"float32 and shape \(2,\).*whole numbers. Round them",
    ),
    "complex": (lambda: Mask.lengths(torch.ones(2).to(torch.complex128)), TypeError, "complex128"),
    "bool lengths": (
        lambda: Mask.lengths(torch.tensor([True, False])),
        TypeError,
        r"has dtype bool.*use Mask.dense",
    ),
    "negative": (
        lambda: Mask.lengths([3, -1]),
        ValueError,
        r"lengths\[1\] is -1. A length cannot be negative. Use 0",
    ),
    "negative in 2-D": (
        lambda: Mask.lengths([[3, 2], [1, -4]]),
        ValueError,
        r"lengths\[1, 1\] is -4",
    ),
    "a scalar": (
        lambda: Mask.lengths(torch.tensor(3)),
        ValueError,
        r"shape \(\).*Mask.lengths\(\[n\]\)",
    ),
    "ragged": (lambda: Mask.lengths([[1, 2], [3]]), TypeError, r"got \[\[1, 2\], \[3\]\]"),
    "None": (lambda: Mask.lengths(None), TypeError, "got None. Lengths must be whole numbers"),
    "words": (lambda: Mask.lengths(["a"]), TypeError, r"got \['a'\]"),
    "align": (
        lambda: Mask.causal("left"),
        ValueError,
        r"align='left'. It must be 'start'.*or 'end'",
    ),
    "and a list": (
        lambda: Mask.causal() & [1],
        TypeError,
        "may_attend is a list. It must be a Mask",
    ),
    "a numpy mask": (lambda: as_mask(np.ones((3, 5), bool)), TypeError, "may_attend is a ndarray"),
}


@pytest.mark.parametrize("name", REFUSED_WHEN_MADE)
def test_a_mask_is_refused_when_made_of(name: str, as_a_user: None) -> None:
    make, error, text = REFUSED_WHEN_MADE[name]
    with pytest.raises(error, match=text):
        make()


def dense(*shape: int) -> Mask:
    return Mask.dense(torch.ones(shape, dtype=torch.bool))


REFUSED_WHEN_USED = {
    # scores (batch, [heads,] query, key)
    "too long": (
        Mask.lengths([5, 6]),
        (2, 3, 5),
        r"lengths\[1\] is 6, longer than the key axis, 5",
    ),
    "too few lengths": (Mask.lengths([5]), (2, 3, 5), r"1 lengths, shape \(1,\), for a batch of 2"),
    "other queries": (
        Mask.lengths([[1, 2], [1, 2]]),
        (2, 3, 5),
        r"shape \(2, 2\) is \(batch, query_len\), but there are 3 queries.*shape \(2,\)",
    ),
    "causal of unequal lengths": (
        Mask.causal(),
        (2, 3, 5),
        r"query_len=3 and key_len=5 differ.*causal\('start'\).*causal\('end'\)",
    ),
    "(batch, key) or (query, key)": (
        dense(3, 5),
        (3, 3, 5),
        r"\(3, 5\) could be \(batch, key\) or \(query, key\).*\[:, None, :\].*may_attend\[None\]",
    ),
    "(batch, key)": (
        dense(2, 5),
        (2, 3, 5),
        r"Write may_attend\[:, None, :\] for one row per example",
    ),
    "key axis 1": (dense(3, 1), (2, 3, 5), "its key axis is 1 where 5 is needed"),
    "heads for batch": (
        dense(4, 3, 5),
        (2, 4, 3, 5),
        r"is \(batch, query, key\), but its batch axis is 4 where 2 is needed.*\(2, 3, 5\)",
    ),
    "heads where there are none": (dense(2, 4, 3, 5), (2, 3, 5), "its heads axis is 4 where 1"),
    "batch and heads swapped": (dense(4, 2, 3, 5), (2, 4, 3, 5), "its batch axis is 4 where 2"),
    "queries and keys swapped": (
        dense(2, 5, 3),
        (2, 3, 5),
        "its query axis is 5 where 3 is needed",
    ),
    "within an and": (Mask.causal("end") & Mask.lengths([9]), (1, 3, 5), r"lengths\[0\] is 9"),
    "within a not": (~Mask.lengths([9]), (1, 3, 5), r"lengths\[0\] is 9"),
}


@pytest.mark.parametrize("name", REFUSED_WHEN_USED)
def test_a_mask_that_does_not_fit_is_refused(name: str) -> None:
    mask, shape, text = REFUSED_WHEN_USED[name]
    with pytest.raises(ValueError, match=text):
        mask.grid_for(shape, torch.device("cpu"))


def test_a_mask_that_does_not_fit_is_refused_when_shown(as_a_user: None) -> None:
    with pytest.raises(ValueError, match="longer than the key axis"):
        Mask.lengths([4]).dense_for(1, 3)
    with pytest.raises(ValueError, match="its batch axis is 3 where 2"):
        (Mask.lengths([1, 2]) & torch.ones(3, 1, 4, dtype=torch.bool)).dense_for(1, 4)


def test_a_long_empty_list_of_lengths_is_an_empty_batch() -> None:
    assert Mask.lengths([]).dense_for(2, 3).shape == (0, 2, 3)


def test_a_mask_is_not_a_tensor() -> None:
    assert not isinstance(Mask.causal(), Tensor)
