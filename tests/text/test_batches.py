import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.text import Batch, BatchLoader, collate, make_batches

EXAMPLES = [([5, 6, 7], [8]), ([9], [10, 11]), ([4], [])]

LENGTHS = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), min_size=1, max_size=60)


def examples_of(lengths):
    return [([4] * source, [4] * target) for source, target in lengths]


def num_tokens(examples, batch):
    return len(batch) * max(max(len(s), len(t) + 1) for s, t in (examples[i] for i in batch))


def test_a_batch_is_padded_with_begin_before_and_end_behind():
    batch = collate(EXAMPLES)
    expected = Batch(
        source=torch.tensor([[5, 6, 7], [9, 0, 0], [4, 0, 0]]),
        source_lengths=torch.tensor([3, 1, 1]),
        target_in=torch.tensor([[2, 8, 0], [2, 10, 11], [2, 0, 0]]),
        target_out=torch.tensor([[8, 3, 0], [10, 11, 3], [3, 0, 0]]),
        target_lengths=torch.tensor([2, 3, 1]),
        indices=torch.tensor([0, 1, 2]),
    )
    for name, tensor, wanted in zip(Batch._fields, batch, expected, strict=True):
        assert tensor.dtype == torch.int64, name
        assert torch.equal(tensor, wanted), name


def test_indices_choose_and_order_the_examples():
    batch = collate(EXAMPLES, [2, 0])
    assert batch.indices.tolist() == [2, 0]
    assert batch.source.tolist() == [[4, 0, 0], [5, 6, 7]]
    assert batch.target_in.tolist() == [[2, 0], [2, 8]]


@given(LENGTHS, st.integers(1, 20), st.none() | st.integers(1, 60), st.none() | st.integers(0, 9))
def test_every_example_is_in_one_batch_and_no_batch_is_over_its_budget(
    lengths, batch_size, max_tokens, seed
):
    examples = examples_of(lengths)
    batches = make_batches(examples, batch_size=batch_size, max_tokens=max_tokens, seed=seed)
    assert sorted(index for batch in batches for index in batch) == list(range(len(examples)))
    for batch in batches:
        assert 1 <= len(batch) <= batch_size
        if max_tokens is not None and len(batch) > 1:
            assert num_tokens(examples, batch) <= max_tokens


@given(LENGTHS, st.integers(1, 40))
def test_no_batch_is_less_than_half_full_where_there_are_enough_examples(lengths, batch_size):
    batches = make_batches(examples_of(lengths), batch_size=batch_size, seed=1)
    assert min(map(len, batches)) >= min(len(lengths), (batch_size + 1) // 2)


@given(LENGTHS, st.integers(1, 20), st.none() | st.integers(1, 60))
def test_every_epoch_has_the_same_number_of_batches(lengths, batch_size, max_tokens):
    loader = BatchLoader(examples_of(lengths), batch_size=batch_size, max_tokens=max_tokens, seed=3)
    assert [len(list(loader.epoch(number))) for number in range(3)] == [len(loader)] * 3


def test_many_examples_of_a_length_make_batches_of_that_length_alone():
    lengths = [(length, number % 7) for length in (4, 5, 6) for number in range(20)]
    batches = make_batches(examples_of(lengths), batch_size=8, seed=0)
    assert all(len({lengths[index][0] for index in batch}) == 1 for batch in batches)
    assert sorted(map(len, batches)) == [6, 6, 6, 6, 6, 6, 8, 8, 8]


def test_few_examples_of_a_length_share_full_batches():
    lengths = [(length, 3) for length in range(1, 13)]
    batches = make_batches(examples_of(lengths), batch_size=8)
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_the_few_longest_join_those_before():
    lengths = [(3, 3)] * 8 + [(9, 3)]
    assert list(map(len, make_batches(examples_of(lengths), batch_size=8))) == [5, 4]


def test_within_a_source_length_targets_of_like_length_go_together():
    lengths = [(3, target) for target in (1, 5, 1, 5, 1, 5, 1, 5)]
    assert make_batches(examples_of(lengths), batch_size=4) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_the_longest_sequence_counts_with_its_end_against_the_tokens():
    examples = examples_of([(3, 3)] * 6)  # each target is 4 long, its end included
    assert list(map(len, make_batches(examples, batch_size=6, max_tokens=24))) == [6]
    assert list(map(len, make_batches(examples, batch_size=6, max_tokens=23))) == [3, 3]


@given(LENGTHS, st.integers(1, 20))
def test_a_budget_that_is_never_reached_changes_nothing(lengths, batch_size):
    examples = examples_of(lengths)
    generous = make_batches(examples, batch_size=batch_size, max_tokens=10_000, seed=1)
    assert generous == make_batches(examples, batch_size=batch_size, seed=1)


def test_an_example_over_the_budget_is_a_batch_of_its_own():
    examples = examples_of([(3, 3), (50, 3), (3, 3)])
    assert make_batches(examples, batch_size=8, max_tokens=12) == [[0, 2], [1]]


def test_seed_and_epoch_decide_the_batches():
    examples = examples_of([(length, 3) for length in (4, 5, 6) for _ in range(20)])

    def plan(seed, epoch):
        return make_batches(examples, batch_size=8, seed=seed, epoch=epoch)

    assert plan(1, 2) == plan(1, 2)
    assert plan(1, 2) != plan(1, 3)
    assert plan(1, 2) != plan(2, 2)
    assert {frozenset(batch) for batch in plan(1, 2)} != {frozenset(batch) for batch in plan(1, 3)}
    longest_first = [len(examples[batch[0]][0]) for batch in plan(1, 2)]
    assert longest_first not in (sorted(longest_first), sorted(longest_first, reverse=True))
    assert plan(None, 0) == plan(None, 5)


def test_the_loader_yields_what_was_planned():
    examples = [([i + 4] * (1 + i % 3), [i + 4]) for i in range(30)]
    loader = BatchLoader(examples, batch_size=4, seed=5)
    planned = make_batches(examples, batch_size=4, seed=5, epoch=7)
    for batch, indices in zip(loader.epoch(7), planned, strict=True):
        for tensor, wanted in zip(batch, collate(examples, indices), strict=True):
            assert torch.equal(tensor, wanted)


def test_planning_a_large_epoch_is_quick():
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 20, (110_000, 2)).tolist()
    loader = BatchLoader(examples_of(lengths), batch_size=256, max_tokens=4000, seed=0)
    start = time.process_time()
    loader.plan(1)
    assert time.process_time() - start < 1


def test_an_empty_source_is_an_error():
    with pytest.raises(ValueError, match=r"source of example 1 is empty\. .* Leave this example"):
        BatchLoader([([4], [5]), ([], [5])], batch_size=2)


def test_no_examples_are_an_error():
    with pytest.raises(ValueError, match=r"no examples\. .* Give some data"):
        make_batches([], batch_size=2)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"batch_size": 0}, r"batch_size=0\. It is a whole number from 1\. Give batch_size >= 1"),
        ({"batch_size": 1, "max_tokens": 0}, "Give max_tokens >= 1"),
        ({"batch_size": 1, "seed": -1}, "Give seed >= 0"),
        ({"batch_size": 1, "seed": 1, "epoch": -1}, "Give epoch >= 0"),
    ],
)
def test_impossible_numbers_are_errors(options, problem):
    with pytest.raises(ValueError, match=problem):
        make_batches(EXAMPLES, **options)
