"""Interventions: what an edit does to a row, where it reaches, and what follows from it."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard import Mask, attend, layers
from regard.recording import edits, intervene, record, tap
from tests.recording.test_record import (
    LENGTHS,
    RECURRENT,
    SOURCE,
    TARGET,
    numbers,
    translator,
)


@pytest.fixture
def call():
    query, key, value = numbers(2, 3, 4), numbers(2, 5, 4, seed=2), numbers(2, 5, 6, seed=3)
    mask = Mask.lengths([5, 3])

    def run():
        return attend(query, key, value, may_attend=mask, need_weights=True)

    return run, value


def edited(run, *given):
    with intervene(nn.Identity(), given) as trace:
        attended = run()
    assert torch.equal(attended.weights, trace["attend"].weights[:, 0])
    return attended


def test_the_identity_changes_no_bit(call):
    with record(nn.Identity()):
        recorded = call[0]()
    for same in (edits.identity(), edits.identity(site="attend", query=1)):
        found = edited(call[0], same)
        assert torch.equal(found.context, recorded.context)
        assert torch.equal(found.weights, recorded.weights)


@pytest.mark.parametrize("choices", RECURRENT)
def test_the_identity_changes_no_bit_of_a_whole_model(choices):
    network = translator(**choices).network
    with record(network):
        recorded = network(SOURCE, LENGTHS, TARGET).logits
    with intervene(network, edits.identity()):
        assert torch.equal(network(SOURCE, LENGTHS, TARGET).logits, recorded)


def test_zero_with_and_without_what_is_left(call):
    before = call[0]().weights
    bare = edited(call[0], edits.zero(key=0, example=1, renormalize=False)).weights
    assert_close(bare[0], before[0])
    assert_close(bare[1, :, 1:], before[1, :, 1:])
    assert (bare[1, :, 0] == 0.0).all()
    whole = edited(call[0], edits.zero(key=0, example=1, renormalize=True)).weights
    assert_close(whole[1, :, 1:], before[1, :, 1:] / before[1, :, 1:].sum(-1, keepdim=True))
    hidden = edited(call[0], edits.boost(-torch.inf, key=0, example=1))  # the same by the scores
    assert_close(hidden.weights, whole)
    nothing = edited(call[0], edits.zero(query=1, renormalize=True))
    assert (nothing.weights[:, 1] == 0.0).all()
    assert (nothing.context[:, 1] == 0.0).all()


def test_a_boost_of_scores_multiplies_the_odds(call):
    before, after = call[0]().weights, edited(call[0], edits.boost(1.5, key=2)).weights
    odds = [w[..., 2] / w[..., 1] for w in (before, after)]
    assert_close(odds[1], odds[0] * torch.tensor(1.5).exp())
    assert_close(after.sum(-1), torch.ones(2, 3))
    doubled = edited(call[0], edits.boost(2.0, at="weights", key=[0, 1], query=slice(1, 3))).weights
    expected = before.clone()
    expected[:, 1:, :2] *= 2.0
    assert_close(doubled, expected)


def test_uniform_and_replaced_weights_leave_the_hidden_hidden(call):
    uniform = edited(call[0], edits.uniform()).weights
    expected = torch.tensor([[0.2] * 5, [1 / 3] * 3 + [0.0] * 2])
    assert_close(uniform, expected[:, None].expand(2, 3, 5))
    new = torch.full((1, 1, 1, 5), 0.5)
    replaced = edited(call[0], edits.replace(new, query=2))
    assert replaced.weights[0, 2].tolist() == [0.5] * 5
    assert replaced.weights[1, 2].tolist() == [0.5, 0.5, 0.5, 0.0, 0.0]
    assert_close(replaced.context, replaced.weights @ call[1])
    assert_close(replaced.weights[:, :2], call[0]().weights[:, :2])


def test_a_permutation_keeps_each_rows_weights_and_its_padding(call):
    before = call[0]().weights
    generator = torch.Generator().manual_seed(5)
    after = edited(call[0], edits.permute(generator)).weights
    assert_close(after.sort(-1).values, before.sort(-1).values)
    assert (after[1, :, 3:] == 0.0).all()
    assert not torch.equal(after, before)
    again = edited(call[0], edits.permute(generator.manual_seed(5))).weights
    assert torch.equal(after, again)
    orders = {tuple(edited(call[0], edits.permute()).weights[1, 0].tolist()) for _ in range(60)}
    assert len(orders) == 6


def test_an_edit_reaches_its_heads_and_sites_alone():
    layer, x = layers.MultiHeadAttention(8, 2), numbers(2, 5, 8)
    with record(layer) as before:
        layer(x, x, x)
    other = layers.MultiHeadAttention(8, 2)
    model = nn.ModuleDict({"mine": layer, "other": other})
    with intervene(
        model, [edits.uniform(site="mine", head=1), edits.zero(site="other", renormalize=False)]
    ) as after:
        layer(x, x, x)
        other(x, x, x)
    assert torch.equal(after[0].weights[:, 0], before[0].weights[:, 0])
    assert_close(after[0].weights[:, 1], torch.full((2, 5, 5), 0.2))


@pytest.mark.parametrize("choices", RECURRENT)
def test_a_step_of_a_decoder_is_named_by_its_query(choices):
    network = translator(**choices).network
    with record(network) as before:
        unedited = network(SOURCE, LENGTHS, TARGET).logits
    with intervene(network, edits.uniform(query=1)) as after:
        logits = network(SOURCE, LENGTHS, TARGET).logits
    assert_close(after[0].weights[0, 0, 1], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0]))
    assert torch.equal(after[0].weights[:, :, 0], before[0].weights[:, :, 0])
    assert torch.equal(logits[:, 0], unedited[:, 0])
    assert not torch.equal(logits[:, 1], unedited[:, 1])

    new = before[0].weights.flip(2)  # other weights for every step, given at once
    with intervene(network, edits.replace(new)) as after:
        network(SOURCE, LENGTHS, TARGET)
    assert torch.equal(after[0].weights, new)


def test_gradients_reach_replaced_weights(call):
    new = torch.full((2, 1, 3, 5), 0.2, requires_grad=True)
    with intervene(nn.Identity(), edits.replace(new)):
        context = call[0]().context
    (found,) = torch.autograd.grad(context.sum(), new)
    expected = call[1].sum(-1)[:, None, None, :].expand(2, 1, 3, 5).clone()
    expected[1, ..., 3:] = 0.0  # hidden
    assert_close(found, expected)


def test_torchs_layers_obey_and_give_back_the_edited_weights():
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), numbers(2, 5, 8)
    with intervene(layer, edits.zero(key=[0, 1], renormalize=True)):
        output, weights = layer(x, x, x)
    hidden, expected = layer(x, x, x, attn_mask=(torch.arange(5) < 2).expand(5, 5))
    assert_close(output, hidden)
    assert_close(weights, expected)


@pytest.mark.usefixtures("as_a_user")
def test_bad_edits_say_what_to_do(call):
    with (
        pytest.raises(ValueError, match=r"new \(1, 1, 1, 4\), but the site has \(2, 1, 3, 5\)"),
        intervene(nn.Identity(), edits.replace(torch.ones(1, 1, 1, 4))),
    ):
        call[0]()
    with pytest.raises(ValueError, match=r"new \(3, 5\). It must be \(batch, heads"):
        edits.replace(torch.ones(3, 5))
    with pytest.raises(TypeError, match=r"layer is unknown. Cells are named by site, example"):
        edits.uniform(layer=1)
    with pytest.raises(ValueError, match="key is given"):
        edits.permute(key=1)
    with pytest.raises(ValueError, match="at='values' is unknown"):
        edits.boost(1.0, at="values", key=1)
    for given, kind in (("zero", "str"), (None, "NoneType"), ([5], "int")):
        with (
            pytest.raises(TypeError, match=f"an edit is a {kind}.*edits.zero"),
            intervene(nn.Identity(), given),
        ):
            pass


PLACES = [
    (-1, ValueError, "key=-1 counts from the end"),
    ([0, -2], ValueError, "counts from the end"),
    (slice(-2, None), ValueError, "counts from the end"),
    (slice(None, None, -1), ValueError, "counts from the end"),
    (slice(3, 3), ValueError, "names no place"),
    (slice(0, 3, 0), ValueError, "names no place"),
    ([], ValueError, "names no place"),
    ("1", TypeError, "holds a str"),
    (1.5, TypeError, "holds a float"),
    ([0.0], TypeError, "holds a float"),
    (torch.tensor([1.0]), TypeError, "holds a float"),
    (True, TypeError, "is a bool"),
    ([True, False], TypeError, r"is a bool.*mask.nonzero\(\)"),
    (torch.tensor([True, False]), TypeError, "is a bool"),
    ([[1]], TypeError, "holds a list"),
]


@pytest.mark.parametrize(("key", "kind", "message"), PLACES)
@pytest.mark.usefixtures("as_a_user")
def test_places_that_cannot_be_are_refused_at_once(key, kind, message):
    with pytest.raises(kind, match=message):
        edits.zero(key=key, renormalize=False)


@pytest.mark.parametrize(
    "key", [np.int64(1), torch.tensor(1), [1], (1,), range(1, 2), np.array([1]), slice(1, 2)]
)
def test_places_may_be_whole_numbers_of_any_kind(call, key):
    found = edited(call[0], edits.zero(key=key, renormalize=False)).weights
    expected = call[0]().weights.clone()
    expected[..., 1] = 0.0
    assert_close(found, expected)


def test_every_second_place_from_one_on(call):
    found = edited(call[0], edits.zero(key=slice(1, None, 2), renormalize=False)).weights
    assert (found == 0.0).all((0, 1)).tolist() == [False, True, False, True, False]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edits.uniform(site="nope"), r"weights for site='nope' met no site. Seen were: attend"),
        (edits.uniform(key=5), r"met no key 5. Where it reached, there were 5, from 0 on"),
        (edits.uniform(key=[0, 9]), "met no key 9"),
        (edits.uniform(key=slice(5, 8)), "met no key 5"),
        (edits.uniform(head=1), "met no head 1. Where it reached, there were 1"),
        (edits.uniform(example=[0, 2]), "met no example 2"),
        (edits.uniform(query=3), "met no query 3"),
    ],
)
def test_an_edit_that_meets_nothing_is_an_error_at_the_end(call, edit, message):
    with (
        pytest.raises(ValueError, match=message),
        intervene(nn.Identity(), [edits.identity(), edit]),
    ):
        call[0]()
    with pytest.raises(KeyError), intervene(nn.Identity(), edit):  # the first error is the one
        raise KeyError


def test_what_comes_later_is_met():
    network = translator().network
    with intervene(network, edits.uniform(query=[0, 2], key=slice(3, None))) as trace:
        network(SOURCE, LENGTHS, TARGET)
    assert len(trace) == 1
    with (
        pytest.raises(ValueError, match="met no query 3"),
        intervene(network, edits.uniform(query=[0, 3])),
    ):
        network(SOURCE, LENGTHS, TARGET)
    with (
        pytest.raises(ValueError, match=r"edit of scores for all met no site.*tapped"),
        intervene(nn.Identity(), edits.boost(1.0)),
    ):
        tap("own", torch.full((3, 4), 0.25))


@pytest.mark.usefixtures("as_a_user")
def test_what_would_make_no_weights_is_refused():
    for made, kind, message in (
        (lambda: edits.uniform(site=3), TypeError, "site=3 is a int"),
        (lambda: edits.boost("a"), TypeError, "amount is a str"),
        (lambda: edits.boost(True), TypeError, "amount is a bool"),
        (lambda: edits.boost(float("nan")), ValueError, "amount=nan"),
        (lambda: edits.boost(float("inf")), ValueError, "amount=inf"),
        (lambda: edits.boost(-2.0, at="weights"), ValueError, "amount=-2.0 at='weights'"),
        (lambda: edits.boost(1.0, renormalize=True), ValueError, "Leave renormalize out"),
        (lambda: edits.permute(5), TypeError, "generator is a int"),
        (lambda: edits.replace(np.ones((1, 1, 1, 2))), TypeError, "new is a ndarray"),
        (lambda: edits.replace(torch.ones(1, 1, 1, 2).long()), TypeError, "tensor of torch.int64"),
        (lambda: edits.replace(torch.full((1, 1, 1, 2), torch.nan)), ValueError, "holds NaN"),
        (lambda: edits.replace(-torch.ones(1, 1, 1, 2)), ValueError, "less than 0.0 for a weight"),
    ):
        with pytest.raises(kind, match=message):
            made()
    edits.replace(torch.full((1, 1, 1, 2), -torch.inf), at="scores")


def test_what_a_tap_hides_stays_hidden():
    hidden = Mask.causal()
    weights = torch.eye(4).expand(2, 4, 4)
    expected = torch.tensor([[1.0, 0, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 3] * 3 + [0], [1 / 4] * 4])
    for may_attend in (hidden, torch.ones(4, 4).tril().bool()):
        with intervene(nn.Identity(), edits.uniform()) as trace:
            found = tap("own", weights, may_attend=may_attend)
        assert_close(found, expected.expand(2, 4, 4))
        assert torch.equal(trace["own"].visible[0, 0], expected > 0.0)
    with intervene(nn.Identity(), edits.permute()):
        moved = tap("own", weights, may_attend=hidden)
    assert (moved.triu(1) == 0.0).all()
    with (
        pytest.raises(ValueError, match=r"\(3, 4\)|query"),
        record(nn.Identity()),
    ):
        tap("own", weights, may_attend=torch.ones(3, 4).bool())
