"""Interventions: what an edit does to a row, where it reaches, and what follows from it."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard import Mask, attend, layers
from regard.recording import edits, intervene, record
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
    with intervene(layer, [edits.uniform(head=1), edits.uniform(site="other")]) as after:
        layer(x, x, x)
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
    with (
        pytest.raises(TypeError, match="an edit is a str"),
        intervene(nn.Identity(), ["zero"]),
    ):
        pass
