"""Greedy search over a step function that is a table."""

from typing import NamedTuple

import pytest
import torch

from regard.search import greedy

PADDING, BEGIN, END = 0, 1, 2


class Outcome(NamedTuple):
    logits: torch.Tensor
    weights: torch.Tensor | None
    state: torch.Tensor


def table_step(table):
    """The state is (rows of the table, step)."""

    def step(token, state):
        rows, t = state
        return Outcome(table[rows, min(t, table.shape[1] - 1)], None, (rows, t + 1))

    return step


def search(logits, max_lengths, **options):
    table = torch.tensor(logits)
    return greedy(
        table_step(table),
        (torch.arange(len(table)), 0),
        max_lengths=torch.tensor(max_lengths),
        begin=BEGIN,
        end=END,
        padding=PADDING,
        **options,
    )


def logits_for(*tokens, vocab=6):
    return [[5.0 if token == id else 0.0 for id in range(vocab)] for token in tokens]


def test_the_likeliest_token_is_taken_until_the_end():
    found = search([logits_for(3, 4, END)], [10])
    assert found.tokens.tolist() == [[3, 4, END]]
    assert found.lengths.tolist() == [2]


def test_a_finished_row_is_frozen():
    found = search([logits_for(3, END, 5, 5), logits_for(4, 4, 4, END)], [10, 10])
    assert found.tokens.tolist() == [[3, END, PADDING, PADDING], [4, 4, 4, END]]
    one = torch.tensor(logits_for(3)[0]).log_softmax(0)[3]
    assert found.log_probs.tolist() == pytest.approx([2 * float(one), 4 * float(one)])


def test_each_row_stops_at_its_own_longest_length():
    found = search([logits_for(3, 3, 3, 3), logits_for(4, 4, 4, 4)], [1, 3])
    assert found.tokens.tolist() == [[3, PADDING, PADDING], [4, 4, 4]]
    assert found.lengths.tolist() == [1, 3]


def test_what_must_never_be_emitted_is_not():
    found = search(
        [[[9.0, 8.0, 0.0, 1.0, 0.0, 0.0]], [[9.0, 0.0, 7.0, 1.0, 0.0, 0.0]]],
        [1, 1],
        never=(PADDING, BEGIN),
    )
    assert found.tokens.tolist() == [[3], [END]]


def test_nothing_to_emit_and_an_empty_batch():
    assert search([logits_for(3)], [0]).tokens.shape == (1, 0)
    found = greedy(
        table_step(torch.zeros(0, 1, 6)),
        (torch.arange(0), 0),
        max_lengths=torch.zeros(0, dtype=torch.long),
        begin=BEGIN,
        end=END,
        padding=PADDING,
    )
    assert found.tokens.shape == (0, 0)
