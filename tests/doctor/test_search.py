"""The search for a binding: what it passes over, what it refuses, what it understands."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from regard.doctor.binding import infer
from regard.doctor.binding.binding import Question
from regard.doctor.binding.bound import BoundExamination, examine


def bound(obj, **options) -> BoundExamination:
    exam = examine(obj, **options)
    assert isinstance(exam, BoundExamination), exam
    return exam


def calls(monkeypatch, obj):
    """How many calls the search made."""
    made, plain = [], infer.try_out
    monkeypatch.setattr(infer, "try_out", lambda *a: made.append(a) or plain(*a))
    bound(obj)
    return len(made)


def masked_by_product(state, memory, mask):
    scores = torch.einsum("bd,btd->bt", state, memory)
    scores = scores.masked_fill(mask == 0, -math.inf)
    return torch.einsum("bt,btd->bd", scores.softmax(-1), memory)


def test_a_line_that_does_not_depend_on_the_mask_is_not_tried_with_every_mask(monkeypatch):
    with monkeypatch.context() as patch:
        few = calls(patch, masked_by_product)
    monkeypatch.setattr(infer.Sieve, "passes", lambda *_: True)
    assert few < calls(monkeypatch, masked_by_product) / 2


def test_the_search_ends_after_a_count_of_calls(monkeypatch):
    monkeypatch.setattr(infer, "_TRIALS", 7)

    def never(query, key, value):
        return query[:, :, 99]

    assert calls(monkeypatch, never) <= 9  # one more for the mask, one for the outputs


class NeedsPreparedKeys(nn.Module):
    """Additive attention. query: (batch, 1, dim), values: (batch, length, dim)"""

    def __init__(self, hidden_size, key_size, query_size):
        super().__init__()
        self.key_layer = nn.Linear(key_size, hidden_size)
        self.query_layer = nn.Linear(query_size, hidden_size)
        self.energy = nn.Linear(hidden_size, 1)
        self.keys = None

    def prepare(self, keys):
        self.keys = self.key_layer(keys)

    def forward(self, query, values):
        assert self.keys is not None, "prepare the keys first"
        scores = self.energy(torch.tanh(self.query_layer(query) + self.keys)).transpose(1, 2)
        return scores.softmax(-1) @ values


def test_keys_are_prepared_where_the_code_refuses_to_go_on_without():
    exam = bound(NeedsPreparedKeys)
    first, second = exam.inputs(), exam.inputs(seed=1)
    assert exam.ask(first).context.shape == (3, 1, exam.sizes.key_dim)
    alone = exam.ask(second).context
    assert np.abs(exam.ask_twice(first, second).context - alone).max() > 1e-3


def test_code_that_refuses_every_call_is_asked_about_and_not_blamed():
    def strict(query, key, value):
        raise ValueError("call me with a list")

    question = examine(strict)
    assert isinstance(question, Question)
    assert "call me with a list" in question.text


class GivesScores(nn.Module):
    """The bilinear score of every query against every key."""

    def __init__(self, query_dim, key_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(query_dim, key_dim))

    def forward(self, query, key):
        return query @ self.weight @ key.transpose(1, 2)


def test_scores_are_examined_by_their_softmax():
    exam = bound(GivesScores)
    inputs = exam.inputs()
    weight = exam.parameters()["weight"]
    scores = np.einsum("bqd,de,bke->bqk", inputs.query, weight, inputs.key)
    right = np.exp(scores - scores.max(-1, keepdims=True))
    right /= right.sum(-1, keepdims=True)
    np.testing.assert_allclose(exam.ask(inputs).weights[:, 0], right, atol=1e-4)
    assert "returned: scores, whose softmax is examined" in exam.assumed


@pytest.mark.parametrize("batch_first", [True, False])
def test_a_batch_first_switch_says_the_layout(batch_first):
    layer = nn.MultiheadAttention(12, 3, batch_first=batch_first)
    exam = bound(layer)
    assert exam.binding.leading.axes == ("BTD" if batch_first else "TBD")
    assert (exam.num_heads, exam.score, exam.scale) == (3, "scaled_dot", 0.5)
    assert (exam.binding.mask.axes, exam.binding.mask.attends) == ("BK", False)
    inputs = exam.inputs(lengths=True)
    fresh = exam.fresh({}, train=False, half=False)
    own = [torch.tensor(a).float() for a in (inputs.query, inputs.key, inputs.value)]
    own = own if batch_first else [x.transpose(0, 1) for x in own]
    hidden = torch.arange(7) >= torch.tensor(inputs.lengths)[:, None]
    context = fresh(*own, key_padding_mask=hidden)[0]
    context = context if batch_first else context.transpose(0, 1)
    np.testing.assert_allclose(exam.ask(inputs).context, context.detach().numpy(), atol=1e-5)


class Base(nn.Module):
    def forward(self, query, key, value, block=None):
        """block (B, Lq, Lk): True hides."""
        scores = query @ key.transpose(1, 2) / math.sqrt(key.size(-1))
        if block is not None:
            scores = scores.masked_fill(block, -1e9)
        return scores.softmax(-1) @ value


class Derived(Base):
    """Scaled dot product."""


def test_an_inherited_method_brings_its_words():
    form = bound(Derived()).binding.mask
    assert (form.axes, form.attends) == ("BQK", False)


class Lazy(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.w_q, self.w_k = nn.LazyLinear(d_model), nn.LazyLinear(d_model)

    def forward(self, query, key, value):
        scores = self.w_q(query) @ self.w_k(key).transpose(1, 2)
        return scores.softmax(-1) @ value


def test_parameters_of_a_first_call_are_the_same_in_all_calls():
    exam = bound(Lazy)
    assert set(exam.parameters()) == {"w_q.weight", "w_q.bias", "w_k.weight", "w_k.bias"}
    inputs = exam.inputs()
    np.testing.assert_array_equal(exam.ask(inputs).context, exam.ask(inputs).context)


class WideHeads(nn.Module):
    """Multi-head attention whose heads have a width of their own."""

    def __init__(self, dim, heads=2, dim_head=32):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(dim, heads * dim_head) for _ in range(3))
        self.out = nn.Linear(heads * dim_head, dim)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in self._projections)
        weights = torch.einsum("bhid,bhjd->bhij", q, k).mul(q.size(-1) ** -0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))

    @property
    def _projections(self):
        return self.q, self.k, self.v


def test_the_right_scale_is_of_the_width_that_heads_compare():
    assert bound(WideHeads).scale == pytest.approx(32**-0.5)


def test_a_built_in_is_read_from_its_docstring():
    exam = bound(nn.functional.scaled_dot_product_attention)
    assert {"query", "key", "value", "mask", "causal"} <= exam.takes
    inputs = exam.inputs()
    own = [torch.tensor(a).float() for a in (inputs.query, inputs.key, inputs.value)]
    right = nn.functional.scaled_dot_product_attention(*own).numpy()
    np.testing.assert_allclose(exam.ask(inputs).context, right, atol=1e-6)
