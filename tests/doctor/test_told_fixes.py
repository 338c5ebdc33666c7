"""What is told of a fault: what follows from it, the scale that is stated, lines and advice."""

import inspect

import numpy as np
import pytest
import torch
from torch import nn

from regard.doctor import diagnose
from regard.doctor.binding.bound import examine
from regard.doctor.checks import repeating, timing
from regard.doctor.comparison.differential import differential
from regard.doctor.comparison.scale_names import rescaled
from regard.doctor.comparison.score_rewrites import tanh_of_sum, turned
from regard.doctor.diagnosis import merged, run_checks


def by_the_keys(queries, keys, values, pad_mask=None):
    """Scaled dot-product attention. queries (B, M, D), keys (B, N, D), values (B, N, E).

    pad_mask (B, N) is True on padding.
    """
    scores = queries @ np.swapaxes(keys, 1, 2) / np.sqrt(keys.shape[1])
    if pad_mask is not None:
        scores = np.where(pad_mask[:, None, :], -np.inf, scores)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    weights = exps / exps.sum(-1, keepdims=True)
    return weights @ values, weights


def by_the_keys_and_padded(queries, keys, values, pad_mask=None):
    """Scaled dot-product attention. queries (B, M, D), keys (B, N, D), values (B, N, E).

    pad_mask (B, N) is True on padding.
    """
    scores = queries @ np.swapaxes(keys, 1, 2) / np.sqrt(keys.shape[1])
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    weights = exps / exps.sum(-1, keepdims=True)
    return weights @ values, weights


class Heads(nn.Module):
    """Scaled dot-product attention with heads; (batch, length, dim)."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))

    def cut(self, x):
        return x.view(*x.shape[:2], self.num_heads, -1).transpose(1, 2)

    def forward(self, query, key, value):
        q, k, v = self.cut(self.q(query)), self.cut(self.k(key)), self.cut(self.v(value))
        weights = (q @ k.mT / q.shape[-1]).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2)), weights


class Keeps(nn.Module):
    """Additive attention. state (batch, dim), memory (batch, length, dim)"""

    def __init__(self, state_dim, memory_dim, attn_dim):
        super().__init__()
        self.W = nn.Linear(state_dim, attn_dim, bias=False)
        self.U = nn.Linear(memory_dim, attn_dim, bias=False)
        self.v = nn.Linear(attn_dim, 1, bias=False)
        self.kept = None

    def forward(self, state, memory):
        if self.kept is None or self.kept.shape[:2] != memory.shape[:2]:
            self.kept = self.U(memory)
        scores = self.v(torch.tanh(self.W(state)[:, None] + self.kept))[..., 0]
        weights = scores.softmax(-1)
        return (weights[..., None] * memory).sum(1), weights


class BahdanauStep(nn.Module):
    def __init__(self, vocab_size, emb_size, hidden_size, enc_size, attn_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, emb_size)
        self.W = nn.Linear(hidden_size, attn_size, bias=False)
        self.U = nn.Linear(enc_size, attn_size, bias=False)
        self.v = nn.Linear(attn_size, 1, bias=False)
        self.cell = nn.GRUCell(emb_size, hidden_size)

    def forward(self, token, state, enc_out):
        state = self.cell(self.emb(token), state)
        scores = self.v(torch.tanh(self.W(state)[:, None] + self.U(enc_out)))[..., 0]
        weights = scores.softmax(1)
        return (weights[..., None] * enc_out).sum(1), state, weights


def too_large(query, keys, values):
    return torch.ones(1 << 50) @ keys


def test_what_a_scale_by_the_keys_does_to_padding_is_no_second_fault():
    (finding,) = diagnose(by_the_keys, isolate=False).findings
    assert finding.fault == "scale"
    assert "padding-changes-nothing" in finding.checks
    faults = {f.fault for f in diagnose(by_the_keys_and_padded, isolate=False).findings}
    assert "mask-dropped" in faults  # another fault is told beside it


def test_a_stated_scale_is_that_of_the_rule_the_fix_and_the_test():
    (finding,) = diagnose(by_the_keys, scale=0.25, isolate=False).findings
    assert finding.rule.startswith("scores are multiplied by 0.25, as stated (")
    assert finding.fix == "scores = queries @ np.swapaxes(keys, 1, 2) * 0.25"
    space = {"np": np}
    line = "queries @ np.swapaxes(keys, 1, 2) / np.sqrt(keys.shape[1])"
    source = inspect.getsource(by_the_keys)
    exec(source.replace(f"scores = {line}", finding.fix), space)
    rng = np.random.default_rng(0)
    query, key, value = (rng.standard_normal(s) for s in ((2, 3, 4), (2, 5, 4), (2, 5, 6)))
    exps = np.exp(np.einsum("bqd,bkd->bqk", query, key) / 4)
    right = exps / exps.sum(-1, keepdims=True)
    np.testing.assert_allclose(space["by_the_keys"](query, key, value)[1], right)


@pytest.mark.parametrize(
    ("line", "scale", "fix"),
    [
        ("s = q @ k.mT / math.sqrt(q.size(-1))", 0.5, "s = q @ k.mT * 0.5"),
        ("s = (q @ k.mT) * d ** -0.5", 2.0, "s = (q @ k.mT) * 2"),
        ("s = q @ k.mT / q.shape[-1] ** 0.5", 1.0, "s = q @ k.mT"),
        ("s = q @ k.mT", 0.5, "s = q @ k.mT * 0.5"),
        ("s = q @ k.mT / 2 + bias", 0.5, "Multiply the scores by 0.5 alone."),
        ("s = f(q, k) / d", 1.0, "Leave the scores unscaled."),
    ],
)
def test_a_line_takes_a_stated_scale(line, scale, fix):
    assert rescaled(line, scale) == fix


def test_the_shape_of_the_weights_is_the_one_that_the_code_returns():
    (finding,) = differential(examine(Heads)).findings
    assert finding.fault == "scale"
    assert "heads = 2; here weights are (3, 2, 5, 7)" in finding.rule


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("e = torch.tanh(q)[:, :, None] + torch.tanh(k)[:, None]",
         "e = torch.tanh(q[:, :, None] + k[:, None])"),
        ("e = np.tanh(s @ W)[:, None] + np.tanh(h @ U)",
         "e = np.tanh((s @ W)[:, None] + h @ U)"),
        ("s = self.v(torch.tanh(self.W(q)).unsqueeze(2) + k)",
         "s = self.v(torch.tanh(self.W(q).unsqueeze(2) + k))"),
        ("e = torch.tanh(q) + torch.tanh(k) + b", None),
        ("e = torch.tanh(q) * 2 + k", None),
        ("e = q + k", None),
    ],
)  # fmt: skip
def test_two_tanh_become_one_around_the_sum(line, fix):
    assert tanh_of_sum(line) == fix


@pytest.mark.parametrize(
    ("line", "matrix", "fix"),
    [
        ("s = h @ (W @ q)", "W", "s = h @ (W.T @ q)"),
        ("s = q @ W.T @ h.T", "W", "s = q @ W @ h.T"),
        ("s = q @ self.W.t() @ h.mT", "W", "s = q @ self.W @ h.mT"),
        ("s = np.einsum('d,de,te->t', q, W, h)", "W", "s = np.einsum('d,de,te->t', q, W.T, h)"),
        ("s = h @ self.W(q)", "W", None),
        ("s = (q @ W) @ (W @ h)", "W", None),
        ("s = f(q, W=W)", "W", None),
    ],
)
def test_a_matrix_is_turned_where_it_stands_once(line, matrix, fix):
    assert turned(line, matrix) == fix


def _seen_by(checks, subject, **stated):
    """The findings of some checks alone."""
    exam = examine(subject, **stated)
    return merged(exam, (), run_checks(exam, checks)[0])


def test_keys_that_are_kept_are_made_anew_without_the_condition():
    (finding,) = _seen_by(repeating.CHECKS, Keeps)
    assert finding.fault == "stale-cache"
    assert 'Leave out "if self.kept is None or self.kept.shape[:2] !=' in finding.fix
    assert "the weights differ by" in finding.seen


def test_the_fix_of_the_timing_is_that_of_the_convention():
    (finding,) = _seen_by(timing.CHECKS, BahdanauStep, convention="bahdanau")
    assert finding.fault == "decoder-timing"
    assert finding.fix.startswith("Score with the state that the step is given, before its cell;")
    assert "Luong" not in finding.rule + finding.fix
    assert _seen_by(timing.CHECKS, BahdanauStep, convention="luong") == []


def test_memory_that_the_system_refuses_is_said_with_the_limit():
    report = diagnose(too_large, memory=3, isolate=True)
    assert report.status == 2
    assert "memory ran out at line" in report.question
    assert "The code may use 3 GiB (memory)" in report.question
