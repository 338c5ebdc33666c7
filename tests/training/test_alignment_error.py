"""The alignment error rate, on links counted by hand."""

import numpy as np
import pytest
import torch

from regard.training.alignment_error import (
    KnownAlignment,
    alignment_error_rate,
    diagonal,
    links,
)


def test_links_are_the_largest_weights_and_none_of_an_empty_row():
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.0, 0.0, 0.0], [0.4, 0.4, 0.2]])
    assert links(weights) == {(0, 1), (2, 0)}


def test_a_corpus_counts_links_and_not_pairs():
    one = KnownAlignment({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)})
    other = KnownAlignment({(0, 3)}, {(0, 3), (0, 2)})
    found = [{(0, 0), (1, 2), (2, 1)}, {(0, 2)}]
    # sure links found: (0, 0); possible: (0, 0), (2, 1), (0, 2); found 4, sure 3
    assert alignment_error_rate(found, [one, other]) == pytest.approx(1 - (1 + 3) / (4 + 3))


def test_right_is_zero_and_wrong_is_one():
    known = KnownAlignment({(0, 1), (1, 0)}, {(0, 1), (1, 0)})
    assert alignment_error_rate([{(0, 1), (1, 0)}], [known]) == 0.0
    assert alignment_error_rate([{(0, 0), (1, 1)}], [known]) == 1.0


@pytest.mark.parametrize(("target_len", "source_len"), [(1, 1), (3, 3), (5, 2), (2, 7), (1, 6)])
def test_the_diagonal_goes_through_the_middle_and_stays_inside(target_len, source_len):
    found = dict(sorted(diagonal(target_len, source_len)))
    assert list(found) == list(range(target_len))
    assert all(0 <= place < source_len for place in found.values())
    for t, place in found.items():  # the cell that holds the middle of the row's stretch
        middle = (t + 0.5) * source_len / target_len
        assert place <= middle < place + 1


def test_what_cannot_be_counted_is_refused():
    known = KnownAlignment({(0, 0)}, {(0, 0)})
    with pytest.raises(ValueError, match="2 alignments found, 1 known"):
        alignment_error_rate([set(), set()], [known])
    with pytest.raises(ValueError, match=r"known\[0\] has sure links"):
        alignment_error_rate([set()], [KnownAlignment({(0, 0)}, set())])
    with pytest.raises(ValueError, match="no links were found"):
        alignment_error_rate([set()], [KnownAlignment(set(), {(0, 0)})])


@pytest.mark.usefixtures("as_a_user")
def test_links_of_what_are_no_weights_are_refused():
    with pytest.raises(TypeError, match=r"links: weights is a list\. .*torch\.as_tensor"):
        links([[1.0, 0.0]])
    with pytest.raises(TypeError, match=r"links: weights is a tensor of torch\.int64"):
        links(torch.eye(2, dtype=torch.long))
    with pytest.raises(ValueError, match=r"links: weights \(1, 2, 2\)\. .*weights\[0, 0\]"):
        links(torch.ones(1, 2, 2))
    with pytest.raises(ValueError, match=r"links: weights\[1, 0\] = nan\. .*find where it arose"):
        links(torch.tensor([[0.5, 0.5], [float("nan"), 1.0]]))
    with pytest.raises(ValueError, match=r"links: weights\[0, 1\] = -5\. .*not scores"):
        links(torch.tensor([[9.0, -5.0]]))


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("number", [torch.tensor, np.int32, np.asarray])
def test_positions_of_any_whole_number_type_are_numbers(number):
    known = KnownAlignment({(0, 1), (1, 0)}, {(0, 1), (1, 0)})
    found = (
        {(number(0), number(1)), (number(1), number(1))}
        if number is not np.asarray
        else [np.array([0, 1]), np.array([1, 1])]
    )
    # one of two found is right, one of two sure ones found
    assert alignment_error_rate([found], [known]) == 0.5


@pytest.mark.usefixtures("as_a_user")
def test_lists_and_plain_tuples_are_links_too():
    known = ([(0, 1), (1, 0)], [(1, 0), (0, 1), (2, 2)])
    assert alignment_error_rate([[(0, 1), (1, 1)]], [known]) == 0.5


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("found", "known", "message"),
    [
        ([{(0, 0)}], [{(0, 0)}], r"known\[0\] is a set\. .*Write KnownAlignment\(sure, possible\)"),
        ({(0, 0)}, [RIGHT := KnownAlignment({(0, 0)}, {(0, 0)})], r"found\[0\] holds the link 0\."),
        ([{(0, 0)}], RIGHT, r"known is a KnownAlignment\. .*Write \[known\]"),
        ([{(0, 0.5)}], [RIGHT], r"found\[0\] holds the link \(0, 0\.5\)\."),
        ([{"00"}], [RIGHT], r"found\[0\] holds the link '00'\."),
        ([7], [RIGHT], r"found\[0\] holds a int\."),
        (None, [RIGHT], r"found is a NoneType\."),
    ],
)
def test_what_are_no_links_is_refused_in_words(found, known, message):
    with pytest.raises(TypeError, match=f"^alignment_error_rate: {message}"):
        alignment_error_rate(found, known)


def test_without_a_source_there_is_nothing_to_link():
    assert diagonal(3, 0) == diagonal(0, 3) == set()
