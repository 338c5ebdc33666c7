"""A mask's repr is a small picture."""

import torch

from regard import Mask


def picture(mask: Mask) -> list[str]:
    first, *rest = repr(mask).split("\n")
    assert first == str(mask)
    return rest


def test_lengths_are_drawn_an_example_beside_the_other() -> None:
    assert picture(Mask.lengths([1, 3])) == ["▪ · ·   ▪ ▪ ▪"]
    assert picture(Mask.lengths([[1, 2], [0, 1]])) == ["▪ ·   · ·", "▪ ▪   ▪ ·"]


def test_unequal_lengths_show_the_alignment() -> None:
    assert picture(Mask.causal("end")) == ["▪ ▪ ▪ · ·", "▪ ▪ ▪ ▪ ·", "▪ ▪ ▪ ▪ ▪"]
    assert picture(Mask.causal("start")) == ["▪ · · · ·", "▪ ▪ · · ·", "▪ ▪ ▪ · ·"]


def test_a_mask_of_equal_lengths_is_drawn_at_equal_lengths() -> None:
    assert picture(Mask.window(0, 1)) == [
        "▪ ▪ · · ·",
        "· ▪ ▪ · ·",
        "· · ▪ ▪ ·",
        "· · · ▪ ▪",
        "· · · · ▪",
    ]


def test_a_mask_of_its_own_size_is_drawn_at_that_size() -> None:
    assert picture(Mask.segments([0, 1], [1, 0, 1])) == ["· ▪ ·", "▪ · ▪"]
    assert picture(~Mask.dense(torch.eye(2, 3) == 1)) == ["· ▪ ▪", "▪ · ▪"]
    assert picture(Mask.causal() & Mask.lengths([2])) == ["▪ ·", "▪ ▪"]
    assert picture(Mask.causal("end") & Mask.lengths([[1, 2, 4]])) == [
        "▪ · · ·",
        "▪ ▪ · ·",
        "▪ ▪ ▪ ▪",
    ]


def test_of_a_large_mask_a_corner_is_drawn() -> None:
    *rows, caption = picture(Mask.dense(torch.ones(5, 2, 1, 10, dtype=torch.bool)))
    assert rows == ["▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪   ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪   ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪"]
    assert caption == "(8 of 10 keys, 3 of 5 examples, 1 of 2 heads)"
    *rows, caption = picture(Mask.segments([0] * 9))
    assert len(rows) == 8
    assert caption == "(8 of 9 queries, 8 of 9 keys)"


def test_what_cannot_be_drawn_is_only_named() -> None:
    assert picture(Mask.segments(torch.zeros(10_000).long())) == []
    assert picture(Mask.causal() & Mask.lengths([[5, 5]])) == []  # they never fit together
    assert picture(Mask.lengths([])) == []
