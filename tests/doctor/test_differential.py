"""Known faults are named by their numbers, at their line; right code is found right."""

from pathlib import Path

import numpy as np
import pytest

from regard.doctor.comparison.differential import differential
from regard.doctor.probe import Sizes
from tests.doctor.written import Written

ADDITIVE = """import torch
def attend(query, key, value, W, U, v):
    hidden = torch.tanh((query @ W)[:, :, None] + (key @ U)[:, None])
    scores = (hidden * v).sum(-1)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
"""
DOT = """import torch
def attend(query, key, value, mask):
    scores = query @ key.transpose(1, 2) / query.size(-1) ** 0.5
    scores = scores.masked_fill(mask[:, None], float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
"""
HEADS = """import torch
def attend(query, key, value, W_q, W_k, W_v, W_o):
    B, T, _ = query.shape
    S = key.shape[1]
    q = (query @ W_q).view(B, T, 2, 6).transpose(1, 2)
    k = (key @ W_k).view(B, S, 2, 6).transpose(1, 2)
    v = (value @ W_v).view(B, S, 2, 6).transpose(1, 2)
    scores = q @ k.transpose(-2, -1) / 6 ** 0.5
    weights = torch.softmax(scores, dim=-1)
    out = (weights @ v).transpose(1, 2).reshape(B, T, 12)
    return out @ W_o, weights
"""


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape) * 0.5


def _written(code: str, folder: Path) -> Written:
    if code.startswith(ADDITIVE[:60]):
        params = {"W": _random(11, 19), "U": _random(13, 19), "v": _random(19)}
        return Written(code, folder, params, score="additive")
    if "W_q" in code:
        widths = {"W_q": 11, "W_k": 13, "W_v": 17, "W_o": 12}
        params = {name: _random(width, 12) for name, width in widths.items()}
        return Written(code, folder, params, score="scaled_dot", num_heads=2)
    takes = frozenset({"query", "key", "value", "mask"})
    return Written(code, folder, sizes=Sizes(query_dim=13), score="scaled_dot", takes=takes)


@pytest.mark.parametrize("code", [ADDITIVE, DOT, HEADS], ids=["additive", "dot", "heads"])
def test_right_code_has_the_numbers_of_the_reference(code: str, tmp_path: Path) -> None:
    found = differential(_written(code, tmp_path))
    assert found.sound
    assert not found.findings


BREAKAGES = [
    (ADDITIVE, "dim=-1", "dim=1", "softmax-axis", 5),
    (ADDITIVE, "torch.tanh(", "(", "score-formula", 3),
    (ADDITIVE, "weights @ value", "weights @ key", "context-source", 6),
    (DOT, " ** 0.5", "", "scale", 3),
    (DOT, " / query.size(-1) ** 0.5", "", "scale", 3),
    (DOT, "mask[:", "~mask[:", "mask-polarity", 4),
    (DOT, "scores = scores.masked", "scores.masked", "mask-dropped", 4),
    (DOT, 'float("-inf")', "1e-9", "mask-value", 4),
    (DOT, 'float("-inf")', "-10", "mask-value", 4),
    (DOT, "key.transpose(1, 2)", "key.reshape(3, 13, 7)", "reshape-for-transpose", 3),
    (DOT, "@ value, weights", "@ value, scores", "returned-weights", 6),
    (HEADS, "(key @ W_k).view(B, S, 2, 6).transpose(1, 2)", "(key @ W_k).view(B, 2, S, 6)",
     "head-split", 6),
    (HEADS, ").transpose(1, 2).reshape(B, T, 12)", ").reshape(B, T, 12)", "head-split", 10),
    (HEADS, "/ 6 ** 0.5", "/ 12 ** 0.5", "scale", 8),
    (HEADS, "scores, dim=-1", "scores, dim=1", "softmax-axis", 9),
]  # fmt: skip


@pytest.mark.parametrize(("code", "old", "new", "fault", "line"), BREAKAGES)
def test_a_known_fault_is_named_at_its_line(
    code: str, old: str, new: str, fault: str, line: int, tmp_path: Path
) -> None:
    assert old in code
    found = differential(_written(code.replace(old, new, 1), tmp_path)).findings
    assert [finding.fault for finding in found] == [fault]
    assert found[0].place is not None
    assert found[0].place.line == line or fault == "returned-weights"


def test_the_fix_of_a_softmax_axis_is_the_line_rewritten(tmp_path: Path) -> None:
    (finding,) = differential(_written(ADDITIVE.replace("dim=-1", "dim=1"), tmp_path)).findings
    assert finding.fix == "weights = torch.softmax(scores, dim=-1)"
    assert finding.tensor == "weights"
