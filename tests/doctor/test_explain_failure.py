"""Errors of shape, told in the user's names, in symbols and numbers, with the line rewritten."""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.doctor.probe import Answer, Failure, Sizes
from regard.doctor.tracing.explain_failure import Explanation, explain
from regard.doctor.tracing.symbols import in_symbols
from regard.doctor.tracing.trace_numpy import record_numpy
from regard.doctor.tracing.trace_torch import record_torch

SOURCE = tuple(Path(__file__).read_text().splitlines())
SHAPES = {"state": (3, 11), "enc": (3, 7, 13), "weights": (3, 7)}


def flat_weights(state: Tensor, enc: Tensor, weights: Tensor) -> Tensor:
    return torch.bmm(weights, enc)


def unaligned(state: Tensor, enc: Tensor, weights: Tensor) -> Tensor:
    return (weights * enc).sum(1)


def untransposed(state: Tensor, enc: Tensor, weights: Tensor) -> Tensor:
    query = enc[:, :5] * 2
    scores = query @ enc
    return scores


def wrong_axis(state: Tensor, enc: Tensor, weights: Tensor) -> Tensor:
    both = torch.cat([enc, enc[:, :, :11]], dim=1)
    return both


def dropped(state: Tensor, enc: Tensor, weights: Tensor) -> Tensor:
    context = (weights[:1, None] @ enc[:1]).squeeze()
    return torch.cat([state[:1], context], dim=1)


def viewed(state: Tensor, enc: Tensor, weights: Tensor) -> Tensor:
    merged = enc.transpose(1, 2).view(3, -1)
    return merged


def every_pair(state: Tensor, enc: Tensor, weights: Tensor) -> Tensor:
    return torch.tanh(enc[:, :5] + enc)


def numpy_state(state: Any, enc: Any, weights: Any) -> Any:
    return np.tanh(enc[:, 0] + enc)


class Projected(nn.Module):
    def __init__(self, dec_dim: int, enc_dim: int, attn_dim: int):
        super().__init__()
        self.enc_proj = nn.Linear(dec_dim, attn_dim)

    def forward(self, state: Tensor, enc: Tensor, weights: Tensor) -> Tensor:
        out: Tensor = self.enc_proj(enc)
        return out


def explained(function: Callable[..., Any], *, framework: str = "torch") -> Explanation:
    random = np.random.default_rng(0)
    arrays = {name: random.normal(size=shape) for name, shape in SHAPES.items()}
    given: dict[str, Any] = dict(arrays)
    if framework == "torch":
        given = {name: torch.from_numpy(array).float() for name, array in arrays.items()}
    run = record_torch if framework == "torch" else record_numpy
    record = run(lambda n, _: function(**n), given, {}, __file__)
    assert record.error is not None
    frames = traceback.extract_tb(record.error.__traceback__)
    last = [frame for frame in frames if frame.filename == __file__][-1]
    failure = Failure(type(record.error).__name__, str(record.error), __file__, last.lineno or 0)
    return explain(Answer(failure=failure, trace=record.trace), Sizes(), SOURCE, framework)


@pytest.mark.parametrize(
    ("function", "tensor", "fix"),
    [
        (flat_weights, "weights", "return torch.bmm(weights.unsqueeze(1), enc)"),
        (unaligned, "weights", "return (weights.unsqueeze(2) * enc).sum(1)"),
        (untransposed, "enc", "scores = query @ enc.transpose(1, 2)"),
        (wrong_axis, "enc", "both = torch.cat([enc, enc[:, :, :11]], dim=-1)"),
        (dropped, "context", "context = (weights[:1, None] @ enc[:1]).squeeze(1)"),
        (viewed, "enc.transpose(1, 2)", "merged = enc.transpose(1, 2).reshape(3, -1)"),
        (
            every_pair,
            "enc[:, :5]",
            "return torch.tanh(enc[:, :5].unsqueeze(2) + enc.unsqueeze(1))",
        ),
        (Projected(11, 13, 19), "self.enc_proj", "self.enc_proj = nn.Linear(enc_dim, attn_dim)"),
    ],
)
def test_the_tensor_is_named_and_the_line_rewritten(
    function: Callable[..., Any], tensor: str, fix: str
):
    said = explained(function)
    assert said.tensor == tensor
    assert said.fix == fix
    assert said.rewritten


def test_the_rule_is_in_symbols_and_in_numbers():
    assert explained(flat_weights).rule == (
        "`weights` is (batch, T_enc) = (3, 7) and `enc` is (batch, T_enc, d_h) = (3, 7, 13): "
        "`weights` should be (batch, 1, T_enc) = (3, 1, 7) here."
    )


def test_numpy_is_answered_in_numpy():
    said = explained(numpy_state, framework="numpy")
    assert said.tensor == "enc[:, 0]"
    assert said.fix == "return np.tanh(enc[:, 0][:, None, :] + enc)"


def test_sizes_have_the_words_of_papers():
    sizes = Sizes(query_dim=22)
    assert in_symbols((3, 5, 2), sizes) == "(batch, T_dec, heads)"
    assert in_symbols((6, 7, 11), sizes) == "(batch*heads, T_enc, d_s/heads)"
    assert in_symbols((35,), sizes) == "(d_s+d_h,)"
