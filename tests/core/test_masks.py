"""Masks in examples worked by hand; everything they refuse, with the fix."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.core.masks import Causal, Dense, Lengths, Segments, Window, as_mask

ONES = torch.ones(3, 5, dtype=torch.bool)


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
    assert shown(untyped.lengths(lengths), 1, 3) == [[[1, 1, 0]], [[1, 1, 1]]]


def test_causal_from_the_start_puts_query_0_at_key_0() -> None:
    assert shown(Mask.causal("start"), 2, 3) == [[1, 0, 0], [1, 1, 0]]


def test_causal_to_the_end_puts_the_last_query_at_the_last_key() -> None:
    assert shown(Mask.causal("end"), 2, 3) == [[1, 1, 0], [1, 1, 1]]
    assert shown(Mask.causal("end"), 3, 2) == [[0, 0], [1, 0], [1, 1]]


def test_causal_of_equal_lengths_needs_no_alignment() -> None:
    assert shown(Mask.causal(), 3, 3) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_a_window_reaches_so_far_before_and_after_the_query() -> None:
    assert shown(Mask.window(1, 0), 3, 3) == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert shown(Mask.window(0, 2), 4, 4) == [
        [1, 1, 1, 0],
        [0, 1, 1, 1],
        [0, 0, 1, 1],
        [0, 0, 0, 1],
    ]


def test_a_window_is_aligned_as_a_causal_mask_is() -> None:
    assert shown(Mask.window(1, 0, align="start"), 2, 4) == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert shown(Mask.window(1, 0, align="end"), 2, 4) == [[0, 1, 1, 0], [0, 0, 1, 1]]
    assert shown(Mask.window(0, 0, align="end"), 3, 2) == [[0, 0], [1, 0], [0, 1]]


def test_a_window_may_have_no_limit_on_a_side() -> None:
    assert shown(Mask.window(None, 0), 3, 3) == shown(Mask.causal(), 3, 3)
    assert shown(Mask.window(None, 1), 3, 3) == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    assert shown(Mask.window(0, None), 3, 3) == [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    assert shown(Mask.window(None, None), 2, 2) == [[1, 1], [1, 1]]


def test_segments_allow_the_keys_with_the_querys_id() -> None:
    assert shown(Mask.segments([7, 7, -2]), 3, 3) == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert shown(Mask.segments([1, 2], [2, 1, 1]), 2, 3) == [[0, 1, 1], [1, 0, 0]]
    assert shown(Mask.segments([[1], [2]], [1, 2]), 1, 2) == [[[1, 0]], [[0, 1]]]
    assert shown(Mask.segments([1], [[1, 2], [2, 2]]), 1, 2) == [[[1, 0]], [[0, 0]]]


def test_packed_sequences_are_segments_and_causal() -> None:
    packed = Mask.segments(torch.tensor([0, 0, 1, 1])) & Mask.causal()
    assert shown(packed, 4, 4) == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]


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
    assert (Mask.window(1, 0) & Mask.segments([0]) & ONES).kind == "window&segments&dense"


def test_the_parts_of_an_intersection_are_the_masks_that_must_all_allow() -> None:
    lengths, causal, window = Mask.lengths([1]), Mask.causal("end"), Mask.window(2, 0)
    assert (lengths & causal & window).parts == (lengths, causal, window)
    assert (lengths & (causal & window)).parts == (lengths, causal, window)
    assert causal.parts == (causal,)
    assert len((lengths | causal).parts) == 1
    assert len((~(lengths & causal)).parts) == 1


def test_a_kernel_can_read_what_a_part_says() -> None:
    causal, window, lengths, segments, dense = (
        Mask.causal("end")
        & Mask.window(2, 1, align="start")
        & Mask.lengths([3])
        & Mask.segments([1], [2, 2])
        & ONES
    ).parts
    assert isinstance(causal, Causal)
    assert (causal.before, causal.after, causal.align) == (None, 0, "end")
    assert (causal.offset(3, 5), causal.offset(5, 5)) == (2, 0)
    assert isinstance(window, Window)
    assert (window.before, window.after, window.offset(3, 5)) == (2, 1, 0)
    assert isinstance(lengths, Lengths)
    assert lengths.key_lens.tolist() == [3]
    assert isinstance(segments, Segments)
    assert (segments.query_ids.tolist(), segments.key_ids.tolist()) == ([1], [2, 2])
    assert isinstance(dense, Dense)
    assert dense.may_attend is ONES


def test_a_mask_says_what_it_is() -> None:
    mask = ~(Mask.lengths([1, 2]) & Mask.causal("end")) | Mask.dense(ONES)
    assert str(mask) == "(~(Mask.lengths([1, 2]) & Mask.causal('end')) | Mask.dense((3, 5)))"
    assert str(Mask.window(1, None, align="start")) == "Mask.window(1, None, align='start')"
    assert str(Mask.segments([[0, 1]])) == "Mask.segments([[0, 1]])"
    assert str(Mask.segments([0], [1, 0])) == "Mask.segments([0], [1, 0])"
    assert len(str(Mask.lengths(range(1000)))) < 80


untyped: Any = Mask
"""As callers without a type checker see it."""

REFUSED_WHEN_MADE: dict[str, tuple[Callable[[], Mask], type[Exception], str]] = {
    "float 0/1": (
        lambda: untyped.dense(ONES.float()),
        TypeError,
        r"float32 and shape \(3, 5\).*must be bool.*may_attend == 0.*may_attend == 1.*pass bias=",
    ),
    "integer 0/1": (
        lambda: untyped.dense(ONES.long()),
        TypeError,
        r"int64.*either polarity. If 1 means may attend, write Mask.dense\(may_attend == 1\)",
    ),
    "uint8": (lambda: untyped.dense(ONES.to(torch.uint8)), TypeError, "uint8.*must be bool"),
    "a list": (lambda: untyped.dense([[True]]), TypeError, "a list, not a torch tensor.*as_tensor"),
    "one axis": (
        lambda: untyped.dense(ONES[0]),
        ValueError,
        r"shape \(5,\). It must be \(query, key\).*may_attend\[:, None, :\]",
    ),
    "five axes": (lambda: untyped.dense(ONES[None, None, None]), ValueError, r"\(1, 1, 1, 3, 5\)"),
    "fractional": (
        lambda: untyped.lengths([2.5, 3]),
        TypeError,
        r"float32 and shape \(2,\).*whole numbers. Round them",
    ),
    "complex": (
        lambda: untyped.lengths(torch.ones(2).to(torch.complex128)),
        TypeError,
        "complex128",
    ),
    "bool lengths": (
        lambda: untyped.lengths(torch.tensor([True, False])),
        TypeError,
        r"has dtype bool.*use Mask.dense",
    ),
    "negative": (
        lambda: untyped.lengths([3, -1]),
        ValueError,
        r"lengths\[1\] is -1. A length cannot be negative. Use 0",
    ),
    "negative in 2-D": (
        lambda: untyped.lengths([[3, 2], [1, -4]]),
        ValueError,
        r"lengths\[1, 1\] is -4",
    ),
    "a scalar": (
        lambda: untyped.lengths(torch.tensor(3)),
        ValueError,
        r"shape \(\).*Mask.lengths\(\[n\]\)",
    ),
    "ragged": (
        lambda: untyped.lengths([[1, 2], [3]]),
        TypeError,
        r"lengths is \[\[1, 2\], \[3\]\]",
    ),
    "None": (
        lambda: untyped.lengths(None),
        TypeError,
        "lengths is None. Lengths count positions, so they must",
    ),
    "words": (lambda: untyped.lengths(["a"]), TypeError, r"lengths is \['a'\]"),
    "align": (
        lambda: untyped.causal("left"),
        ValueError,
        r"align='left'. It must be 'start'.*or 'end'",
    ),
    "window align": (
        lambda: untyped.window(1, 1, align="x"),
        ValueError,
        r"window: align='x'. It must",
    ),
    "half a key": (
        lambda: untyped.window(1.5, 0),
        TypeError,
        r"before=1.5 is a float. It counts keys.*Pass an int, or None",
    ),
    "minus one key": (
        lambda: untyped.window(0, -1),
        ValueError,
        r"after=-1. It counts keys, so it cannot be negative. Use 0",
    ),
    "True for a key": (lambda: untyped.window(True, 0), TypeError, "before=True is a bool"),
    "a window beyond any sequence": (
        lambda: untyped.window(0, 2**63 - 1),
        ValueError,
        r"after=9223372036854775807. No sequence is that long. Give None",
    ),
    "a negative number of queries": (
        lambda: untyped.causal().dense_for(-1, 5),
        ValueError,
        r"dense_for: query_len=-1. It counts positions.*Pass 0 or more",
    ),
    "half a number of keys": (
        lambda: untyped.lengths([2]).dense_for(3, 2.5),
        TypeError,
        r"dense_for: key_len=2.5 is a float.*Pass an int",
    ),
    "fractional ids": (
        lambda: untyped.segments(torch.ones(3)),
        TypeError,
        r"query_ids has dtype float32 and shape \(3,\). Segment ids must be whole numbers",
    ),
    "bool ids": (
        lambda: untyped.segments([0], torch.tensor([True])),
        TypeError,
        r"key_ids has dtype bool.*Pass ids.long\(\)",
    ),
    "ids of three axes": (
        lambda: untyped.segments(ONES[None].long()),
        ValueError,
        r"query_ids has shape \(1, 3, 5\). It must be \(position,\).*or \(batch, position\)",
    ),
    "and a list": (
        lambda: untyped.causal() & [1],
        TypeError,
        r"Mask & list: both sides of & must be a Mask, .*Mask\.lengths",
    ),
    "5 and": (lambda: cast(Any, 5) & untyped.causal(), TypeError, "Mask & int: both sides"),
    "or 5": (lambda: untyped.causal() | 5, TypeError, r"Mask \| int: both sides of \| must"),
    "and in words": (
        lambda: untyped.causal() and untyped.lengths([2]),
        TypeError,
        r"Mask\.causal\(\) has no truth value.* &, \| and ~",
    ),
    "not in words": (lambda: cast(Any, not untyped.causal()), TypeError, "has no truth value"),
    "a numpy mask": (
        lambda: as_mask(cast(Any, np.ones((3, 5), bool))),
        TypeError,
        "may_attend is a ndarray",
    ),
}


@pytest.mark.parametrize("name", REFUSED_WHEN_MADE)
def test_a_mask_is_refused_when_made_of(name: str, as_a_user: None) -> None:
    make, error, text = REFUSED_WHEN_MADE[name]
    with pytest.raises(error, match=text):
        make()


def test_the_widest_window_hides_nothing() -> None:
    assert shown(Mask.window(2**62, 2**62), 3, 3) == [[1, 1, 1]] * 3


def test_masks_without_numbers_are_made_and_printed() -> None:
    """On meta, where shapes are worked out before anything is computed."""
    lengths = torch.tensor([2, 1], device="meta")
    ones = torch.ones(2, 3, device="meta")
    for mask in (
        Mask.lengths(lengths),
        Mask.dense(ones[:, None].bool()),
        Mask.from_attention_mask(ones),
        Mask.from_torch(key_padding_mask=ones - 1.0),
        Mask.lengths(lengths) & Mask.causal("end"),
    ):
        assert repr(mask) == str(mask)
        assert mask.grid_for((2, 4, 3), torch.device("meta")).shape[-1] == 3


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
    "a window of unequal lengths": (
        Mask.window(2, 1),
        (2, 3, 5),
        r"'window' could mean two things.*window\(2, 1, align='start'\) if query 0.*align='end'\)",
    ),
    "ids of the queries alone": (
        Mask.segments([1, 1, 1]),
        (2, 3, 5),
        r"query_len=3 and key_len=5 differ, but key_ids was left out.*Pass key_ids",
    ),
    "too few ids": (
        Mask.segments([1, 1, 1], [1, 1]),
        (2, 3, 5),
        r"key_ids has shape \(2,\) for batch=2 and key_len=5. Give one id per key: "
        r"shape \(2, 5\), or \(5,\) if",
    ),
    "ids of another batch": (
        Mask.segments([[1, 1, 1]], [1] * 5),
        (2, 3, 5),
        r"query_ids has shape \(1, 3\) for batch=2 and query_len=3",
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
    for ask in (mask.grid_for, mask.unseen_keys, mask.intervals):
        with pytest.raises(ValueError, match=text):
            ask(shape, torch.device("cpu"))


def test_a_mask_that_does_not_fit_is_refused_when_shown(as_a_user: None) -> None:
    with pytest.raises(ValueError, match="longer than the key axis"):
        Mask.lengths([4]).dense_for(1, 3)
    with pytest.raises(ValueError, match="its batch axis is 3 where 2"):
        (Mask.lengths([1, 2]) & torch.ones(3, 1, 4, dtype=torch.bool)).dense_for(1, 4)


def test_a_long_empty_list_of_lengths_is_an_empty_batch() -> None:
    assert Mask.lengths([]).dense_for(2, 3).shape == (0, 2, 3)


def test_lengths_do_not_change_with_the_tensor_they_came_from() -> None:
    lengths, ids = torch.tensor([2, 3]), torch.tensor([0, 1])
    masks = Mask.lengths(lengths), Mask.segments(ids)
    lengths += 7
    ids += torch.tensor([1, 0])
    assert shown(masks[0], 1, 3) == [[[1, 1, 0]], [[1, 1, 1]]]
    assert shown(masks[1], 2, 2) == [[1, 0], [0, 1]]


def test_a_mask_is_not_a_tensor() -> None:
    assert not isinstance(Mask.causal(), Tensor)
