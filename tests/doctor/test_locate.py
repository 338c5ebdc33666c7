"""The stages of attention found in a trace, and views that cut across axes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.doctor.tracing import locate
from regard.doctor.tracing.recorder import Recorded
from regard.doctor.tracing.source_names import site
from regard.doctor.tracing.trace import Event, Operand
from regard.doctor.tracing.trace_torch import record_torch

SOURCE = tuple(Path(__file__).read_text().splitlines())


def attend(query: Tensor, key: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    scores = torch.bmm(query, key.transpose(1, 2)) * 0.25
    scores = scores.masked_fill(hidden.unsqueeze(1), -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ key, weights


def by_hand(query: Tensor, key: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    exps = torch.exp(scores) * ~hidden[:, None]
    weights = exps / exps.sum(2, keepdim=True)
    return (weights[..., None] * key[:, None]).sum(2), weights


def changing(query: Tensor, key: Tensor, hidden: Tensor) -> Tensor:
    key.transpose(1, 2)[:, :, 0] = 0
    query = query / 2
    query /= 3
    return query @ key.mT


def recorded(function: Any) -> Recorded:
    torch.manual_seed(0)
    named = {"query": torch.randn(3, 5, 11), "key": torch.randn(3, 7, 11)}
    named["mask"] = torch.arange(7)[None] >= torch.tensor([7, 3, 2])[:, None]
    return record_torch(lambda n, _: function(*n.values()), named, {}, __file__)


def names(record: Recorded, event: Event) -> tuple[str, ...]:
    found = site(event, record.trace, SOURCE)
    assert found is not None
    return found.names


def test_each_stage_is_found_with_the_users_names():
    record = recorded(attend)
    (softmax,) = locate.normalizers(record.trace)
    assert (softmax.axis, softmax.averages, softmax.by_hand) == (2, True, False)
    (score,) = locate.score_products(record.trace)
    assert names(record, score.event) == ("query", "key.transpose(1, 2)")
    (context,) = locate.context_products(record.trace)
    assert names(record, context.event) == ("weights", "key")
    (mask,) = locate.mask_events(record.trace)
    assert names(record, mask)[:2] == ("scores", "hidden.unsqueeze(1)")
    assert [factor for _, factor in locate.scalings(record.trace)] == [0.25]


def test_a_softmax_written_out_is_one_too():
    record = recorded(by_hand)
    (softmax,) = locate.normalizers(record.trace)
    assert (softmax.axis, softmax.by_hand, softmax.shifted) == (2, True, False)
    (score,) = locate.score_products(record.trace)
    assert score.event.op == "einsum"
    (context,) = locate.context_products(record.trace)
    assert context.event.op == "sum"


def test_an_array_of_the_answer_is_found():
    record = recorded(attend)
    (found,) = locate.find(record.trace, record.result[0])
    assert found[0].op == "matmul"


def test_writes_into_an_input_are_told_from_writes_into_ones_own():
    (event,) = locate.in_place(recorded(changing).trace)
    assert event.op == "setitem"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((3, 7, 22), (3, 2, 7, 11)),  # heads without a transpose
        ((3, 2, 7, 11), (3, 7, 22)),  # merged without one
        ((3, 7, 22), (3, 22, 7)),
        ((7, 3, 22), (3, 7, 22)),
        ((3, 5, 22), (6, 5, 11)),
    ],
)
def test_a_view_across_axes_is_seen(before: tuple[int, ...], after: tuple[int, ...]):
    assert locate.mixes_axes(view(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((3, 7, 22), (3, 7, 2, 11)),
        ((3, 7, 2, 11), (3, 7, 22)),
        ((3, 2, 7, 11), (6, 7, 11)),
        ((3, 12, 5), (9, 4, 5)),  # blocks, with the batch
        ((7, 3, 22), (7, 6, 11)),  # length first, heads with the batch
        ((3, 7), (3, 1, 1, 7)),
        ((2, 7, 8), (2, 8, 7)),  # relative positions, shifted
    ],
)
def test_a_view_that_merges_or_splits_is_right(before: tuple[int, ...], after: tuple[int, ...]):
    assert not locate.mixes_axes(view(before, after))


def view(before: tuple[int, ...], after: tuple[int, ...]) -> Event:
    old, new = np.zeros(before), np.zeros(after)
    operands = [Operand(i, a.shape, frozenset(), a) for i, a in enumerate((old, new))]
    return Event("view", (operands[0],), (operands[1],))
