"""The trace of torch code: names, places, origins, values, also through writes in place."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from regard.doctor.tracing.recorder import Recorded
from regard.doctor.tracing.trace import Event
from regard.doctor.tracing.trace_torch import record_torch


def attend(query: Tensor, key: Tensor, lengths: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    projected = functional.linear(query, weight)
    scores = projected @ key.transpose(1, 2) / 2.0
    hidden = torch.arange(key.size(1))[None, :] >= lengths[:, None]
    scores = scores.masked_fill(hidden.unsqueeze(1), float("-inf"))
    weights = torch.softmax(scores, -1)
    return torch.bmm(weights, key), weights


def write(query: Tensor, key: Tensor) -> Tensor:
    total = torch.zeros(3, 7)
    column = total[:, 0]
    column.copy_(key[:, 0, 0])
    query[0].mul_(0.0)
    return total + 1


def fail(query: Tensor, key: Tensor) -> Tensor:
    return query @ key


def inputs() -> dict[str, Tensor]:
    torch.manual_seed(0)
    return {"query": torch.randn(3, 5, 11), "key": torch.randn(3, 7, 13)}


def recorded() -> Recorded:
    named = {**inputs(), "mask": torch.tensor([7, 3, 2])}
    parameters = {"W": torch.randn(13, 11)}
    return record_torch(
        lambda n, p: attend(n["query"], n["key"], n["mask"], p["W"]), named, parameters, __file__
    )


def of(record: Recorded, op: str) -> Event:
    return next(event for event in record.trace.events if event.op == op)


def test_operations_have_one_name_and_the_users_line():
    seen = [event.op for event in recorded().trace.events if event.op != "input"]
    project = ["linear", "transpose", "matmul", "div"]
    hide = ["arange", "getitem", "getitem", "ge", "unsqueeze", "masked_fill"]
    assert seen == [*project, *hide, "softmax", "bmm"]
    place = of(recorded(), "softmax").place
    assert place is not None
    assert place.code == "weights = torch.softmax(scores, -1)"


def test_origins_name_what_an_array_depends_on():
    record = recorded()
    assert of(record, "linear").outputs[0].origins == {"query", "W"}
    assert of(record, "ge").outputs[0].origins == {"mask"}
    assert of(record, "bmm").outputs[0].origins == {"query", "key", "mask", "W"}


def test_settings_are_named():
    record = recorded()
    assert of(record, "softmax").settings["axis"] == 2
    assert of(record, "softmax").settings["dim"] == -1
    assert of(record, "masked_fill").settings["fill"] == float("-inf")
    assert of(record, "div").settings["scalar"] == 2.0


def test_values_are_copies_and_the_answer_is_the_untraced_one():
    record = recorded()
    torch.manual_seed(0)
    named = {**inputs(), "mask": torch.tensor([7, 3, 2])}
    context, weights = attend(*named.values(), torch.randn(13, 11))
    assert np.array_equal(of(record, "softmax").outputs[0].value, weights.numpy())
    assert torch.equal(record.result[0], context)


def test_a_write_through_a_view_reaches_the_whole_array():
    named = inputs()
    record = record_torch(lambda n, _: write(**n), named, {}, __file__)
    assert of(record, "add").inputs[0].origins == {"key"}
    changed = of(record, "mul")
    assert changed.settings["in_place"] is True
    assert np.any(changed.inputs[0].value != 0)
    assert not np.any(changed.outputs[0].value)


def test_the_operation_that_raises_comes_last():
    record = record_torch(lambda n, _: fail(**n), inputs(), {}, __file__)
    last = record.trace.events[-1]
    assert isinstance(record.error, RuntimeError)
    assert last.op == "matmul"
    assert "error" in last.settings
    assert [operand.shape for operand in last.inputs] == [(3, 5, 11), (3, 7, 13)]
