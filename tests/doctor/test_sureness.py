"""Code that never runs: called broken only where its call is surely understood."""

import numpy as np
import pytest
import torch
from torch import nn

from regard.doctor.binding.binding import Question
from regard.doctor.binding.bound import BoundExamination, examine


def no_transpose(q, k, v):
    return torch.bmm(torch.bmm(q, k).softmax(-1), v)


def no_transpose_documented(q, k, v):
    """q (B, Tq, D), k (B, Tk, D), v (B, Tk, E)"""
    return torch.bmm(torch.bmm(q, k).softmax(-1), v)


def two_axes_for_bmm(decoder_hidden, encoder_outputs):
    scores = (encoder_outputs * decoder_hidden.unsqueeze(1)).sum(2)
    return torch.bmm(scores.softmax(1), encoder_outputs)


def mask_over_samples(queries, keys, values, valid_len):
    scores = torch.bmm(queries, keys.mT)
    mask = torch.arange(scores.size(-1))[None, :] < valid_len[:, None]
    return torch.bmm(scores.masked_fill(~mask, -1e6).softmax(-1), values)


def wants_a_tuple(query, keys):
    first, *_ = query.pairs
    return first @ keys


class Unnamed(nn.Module):
    def __init__(self, foo, bar):
        super().__init__()
        self.project = nn.Linear(foo, bar)

    def forward(self, query, key):
        return (self.project(query) @ key.transpose(1, 2)).softmax(-1) @ key


class UnnamedNeverRuns(Unnamed):
    def forward(self, query, key):
        return (self.project(query) @ key).softmax(-1) @ key[:, None]


class Grown:
    """Additive attention that draws its own weights."""

    def __init__(self, dec_dim, enc_dim, attn_dim):
        random = np.random.default_rng(0)
        self.W = random.normal(size=(attn_dim, dec_dim))
        self.U = random.normal(size=(attn_dim, enc_dim))
        self.v = random.normal(size=attn_dim)

    def __call__(self, state, annotations):
        e = np.tanh((self.W @ state)[None] + annotations @ self.U.T) @ self.v
        alpha = np.exp(e - e.max())
        alpha = alpha / alpha.sum()
        return alpha @ annotations, alpha


def failure(code, **stated):
    exam = examine(code, **stated)
    assert isinstance(exam, BoundExamination), exam
    return exam.ask(exam.inputs()).failure


def question(code):
    exam = examine(code)
    assert isinstance(exam, Question)
    return exam.text


def test_a_layout_that_nothing_states_is_asked_for_where_another_would_run():
    assert "--layout" in question(no_transpose)


@pytest.mark.parametrize(
    ("code", "stated"),
    [(no_transpose_documented, {}), (no_transpose, {"layout": "batch_first"})],
)
def test_a_stated_layout_is_evidence(code, stated):
    assert failure(code, **stated) is not None


@pytest.mark.parametrize("code", [two_axes_for_bmm, mask_over_samples])
def test_code_that_runs_in_no_layout_is_at_fault_itself(code):
    assert failure(code) is not None


def test_an_error_that_is_none_of_shapes_is_asked_about():
    assert "as you do" in question(wants_a_tuple)


def test_unknown_widths_are_tried_apart():
    exam = examine(Unnamed)
    assert isinstance(exam, BoundExamination)
    assert (exam.sizes.query_dim, exam.sizes.key_dim) == (11, 13)
    assert exam.ask(exam.inputs()).failure is None


def test_a_guessed_width_is_no_evidence():
    assert "factory" in question(UnnamedNeverRuns)


def test_arrays_that_a_class_makes_are_its_parameters():
    exam = examine(Grown)
    assert isinstance(exam, BoundExamination)
    assert set(exam.parameters()) == {"W", "U", "v"}
    inputs = exam.inputs()
    flat = exam.with_parameters({"v": np.zeros(19)}).ask(inputs)
    assert flat.weights is not None
    np.testing.assert_allclose(flat.weights, 1 / 7)
    names = [
        e.settings["role"] for e in exam.ask(inputs, trace=True).trace.events if e.op == "input"
    ]
    assert {"W", "U", "v"} <= set(names)
