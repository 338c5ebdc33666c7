import math

import numpy as np
import pytest
import torch
from torch import nn

from regard.doctor.binding.binding import Question
from regard.doctor.binding.bound import BoundExamination, examine
from regard.doctor.examination import Examination
from regard.reference import additive_attention, scaled_dot_attention


def numpy_additive(decoder_state, encoder_states, W_a, U_a, v_a):
    """Bahdanau attention."""
    scores = np.tanh(W_a @ decoder_state + encoder_states @ U_a.T) @ v_a
    exp = np.exp(scores - scores.max())
    weights = exp / exp.sum()
    return weights @ encoder_states, weights


def scaled_dot(query, key, value, block=None):
    """block: (B, Lq, Lk), True where attention is not allowed. softmax(q k^T / sqrt(d_k)) v"""
    scores = query @ key.transpose(1, 2) / math.sqrt(key.size(-1))
    if block is not None:
        scores = scores.masked_fill(block, -1e9)
    weights = scores.softmax(-1)
    return {"attn": weights, "out": weights @ value}


def weights_first(hidden, encoder_outputs, lengths):
    # hidden (1, B, H), encoder_outputs (T, B, H): length first
    scores = (encoder_outputs * hidden).sum(-1).t()
    hide = torch.arange(scores.size(1)) >= lengths[:, None]
    weights = scores.masked_fill(hide, -math.inf).softmax(-1)
    return weights, (weights.t().unsqueeze(-1) * encoder_outputs).sum(0)


def undocumented(x):
    scores = torch.einsum("tbd,sbd->bts", x, x)
    return torch.einsum("bts,sbd->tbd", scores.softmax(-1), x)


def in_place(query, key, value):
    query /= 2.0
    return (query @ key.transpose(1, 2)).softmax(-1) @ value


def needs_equal_lengths(q, k, v):
    # q, k, v: (batch, length, dim)
    scores = q @ k.transpose(1, 2)
    return (scores + scores.transpose(1, 2)).softmax(-1) @ v


class BahdanauAttention(nn.Module):
    """Additive attention of one decoder step."""

    def __init__(self, enc_dim, dec_dim, attn_dim):
        super().__init__()
        self.query = nn.Linear(dec_dim, attn_dim, bias=False)
        self.key = nn.Linear(enc_dim, attn_dim, bias=False)
        self.v = nn.Linear(attn_dim, 1, bias=False)

    def forward(self, hidden, encoder_outputs, pad_mask=None):
        """pad_mask (B, T): True at padding."""
        sums = self.query(hidden).unsqueeze(1) + self.key(encoder_outputs)
        scores = self.v(torch.tanh(sums)).squeeze(-1)
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask, -math.inf)
        self.attention_weights = scores.softmax(-1)
        return torch.bmm(self.attention_weights.unsqueeze(1), encoder_outputs).squeeze(1)


class Step(nn.Module):
    """Decoder step with Luong dot attention."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_size)
        self.cell = nn.GRUCell(hidden_size, hidden_size)

    def forward(self, token, state, encoder_outputs):
        state = self.cell(self.embedding(token), state)
        weights = torch.einsum("bd,btd->bt", state, encoder_outputs).softmax(-1)
        return torch.einsum("bt,btd->bd", weights, encoder_outputs), state, weights


class Remembering:
    """q, k, v: (batch, length, dim); keeps the keys of the first call."""

    def __init__(self):
        self.cached = None

    def __call__(self, q, k, v):
        if self.cached is None:
            self.cached = np.swapaxes(k, 1, 2)
        scores = np.exp(q @ self.cached / 100)
        return scores / scores.sum(-1, keepdims=True) @ v


def bound(obj, **options) -> BoundExamination:
    exam = examine(obj, **options)
    assert isinstance(exam, BoundExamination), exam
    return exam


def test_it_is_an_examination():
    assert isinstance(bound(scaled_dot), Examination)


def test_unbatched_numpy_answers_as_the_reference_looped_over_the_batch():
    exam = bound(numpy_additive)
    inputs, own = exam.inputs(), exam.parameters()
    answer = exam.ask(inputs)
    assert exam.score == "additive"
    assert exam.sizes.query_dim != exam.sizes.key_dim != exam.sizes.attn_dim
    for b in range(3):
        right = additive_attention(inputs.query[b, 0], inputs.key[b], *own.values())
        np.testing.assert_allclose(answer.context[b, 0], right.context)
        np.testing.assert_allclose(answer.weights[b, 0, 0], right.weights)


def test_a_block_mask_and_a_dict_are_translated():
    exam = bound(scaled_dot)
    inputs = exam.inputs(lengths=True)
    answer = exam.ask(inputs)
    assert (exam.mask_role, exam.mask_form) == ("block", "pair")
    for b in range(3):
        right = scaled_dot_attention(
            inputs.query[b], inputs.key[b], inputs.value[b], may_attend=inputs.may_attend[b]
        )
        np.testing.assert_allclose(answer.context[b], right.context, atol=1e-5)
        np.testing.assert_allclose(answer.weights[b, 0], right.weights, atol=1e-5)


def test_length_first_states_and_weights_first_are_canonical():
    exam = bound(weights_first)
    inputs = exam.inputs(lengths=True)
    answer = exam.ask(inputs)
    scores = np.einsum("bqd,bkd->bqk", inputs.query, inputs.key)
    scores = np.where(inputs.may_attend, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(answer.weights[:, 0], weights, atol=1e-5)
    np.testing.assert_allclose(answer.context, weights @ inputs.key, atol=1e-5)


def test_a_class_is_built_by_its_names_and_its_stored_weights_are_read():
    exam = bound(BahdanauAttention)
    answer = exam.ask(exam.inputs(lengths=True))
    assert exam.gives == {"context", "weights"}
    assert exam.unexpected == frozenset()
    assert exam.convention == "bahdanau"
    np.testing.assert_allclose(answer.weights.sum(-1), 1.0, atol=1e-5)
    assert answer.weights[1, 0, 0, 5:].max() == 0.0  # lengths 7, 5, 3


def test_an_instance_gives_the_widths_that_it_was_built_with():
    exam = bound(BahdanauAttention(6, 10, 8))
    assert (exam.sizes.key_dim, exam.sizes.query_dim) == (6, 10)


def test_gradients_come_by_role_and_by_parameter():
    exam = bound(BahdanauAttention)
    gradients = exam.ask(exam.inputs(), gradients=True).gradients
    assert set(gradients) == {"query", "key", "query.weight", "key.weight", "v.weight"}


def test_parameters_can_be_replaced():
    exam = bound(BahdanauAttention)
    zero = {"v.weight": np.zeros_like(exam.parameters()["v.weight"])}
    answer = exam.with_parameters(zero).ask(exam.inputs())
    np.testing.assert_allclose(answer.weights, 1 / 7, atol=1e-6)


def test_a_decoder_step_gets_a_token_that_moves_its_weights():
    exam = bound(Step)
    inputs = exam.inputs()
    assert "step" in exam.takes
    assert inputs.extra["token"].shape == (3,)
    moved = inputs.with_(extra={"token": (inputs.extra["token"] + 1) % 29})
    assert np.abs(exam.ask(inputs).weights - exam.ask(moved).weights).max() > 1e-3


def test_a_change_in_place_is_seen():
    exam = bound(in_place)
    assert exam.ask(exam.inputs()).changed == ("query",)


def test_each_question_has_a_fresh_copy_but_two_calls_share_one():
    exam = bound(Remembering)
    first, second = exam.inputs(), exam.inputs(seed=1)
    alone = exam.ask(second).context
    assert np.abs(exam.ask_twice(first, second).context - alone).max() > 1e-3
    exam.ask(first)
    np.testing.assert_array_equal(exam.ask(second).context, alone)


def test_equal_lengths_are_taken_where_the_code_forces_them():
    assert frozenset(("query_len", "key_len")) in bound(needs_equal_lengths).equal


def test_an_untold_layout_is_asked_for_by_its_flag():
    question = examine(undocumented)
    assert isinstance(question, Question)
    assert "--layout" in question.text
    answer = bound(undocumented, layout="length-first")
    assert answer.ask(answer.inputs()).context.shape == (3, 5, answer.sizes.query_dim)


def test_an_unknown_argument_is_asked_for_by_its_flag():
    def strange(alpha, beta, gamma, delta, epsilon):
        return alpha

    question = examine(strange)
    assert isinstance(question, Question)
    assert "--bind" in question.text


def test_a_failure_names_the_line():
    def broken(query, key, value):
        """query (B, Tq, D), key and value (B, Tk, D)"""
        scores = query @ key  # lacks the transpose
        return scores.softmax(-1) @ value

    exam = bound(broken)
    failure = exam.ask(exam.inputs()).failure
    assert failure.code.startswith("scores = query @ key")
    assert failure.file == __file__


@pytest.mark.parametrize(
    ("doc", "attends"),
    [
        ("mask: True = may attend", True),
        ("mask: True where attention is not allowed", False),
        ("mask is 0 at positions to leave out", True),
        ("mask is False at hidden keys", True),
        ("mask: 1 for real tokens, 0 for padding", True),
        ("mask: bool, True marks <pad>", False),
        ("mask: True for pairs that take part", True),
    ],
)
def test_stated_polarity_counts_even_where_the_code_does_otherwise(doc, attends):
    def attend(query, key, value, mask):
        scores = (query @ key.transpose(1, 2)).masked_fill(mask, -1e9)
        return scores.softmax(-1) @ value

    attend.__doc__ = doc
    assert bound(attend).binding.mask.attends is attends


def test_a_trace_has_the_lines_of_the_code():
    exam = bound(scaled_dot)
    events = exam.ask(exam.inputs(), trace=True).trace.events
    softmax = next(e for e in events if e.op == "softmax")
    assert "scores.softmax(-1)" in softmax.place.code
