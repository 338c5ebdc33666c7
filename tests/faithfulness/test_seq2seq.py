"""Decisions of an encoder-decoder: each checked against the network run by hand."""

import pytest
import torch

from regard.faithfulness import (
    Decisions,
    Seq2SeqDecisions,
    erase,
    leave_one_out,
    permute,
    total_variation,
)
from regard.faithfulness.orders import weight_gradient
from regard.text import Vocabulary
from tests.faithfulness.planted import generator
from tests.faithfulness.translators import KINDS, PAIRS, examples, fresh

NUM_ROWS = sum(len(pair.target) + 1 for pair in PAIRS)


@pytest.fixture(params=KINDS, scope="module")
def translator(request):
    return fresh(**KINDS[request.param])


@pytest.fixture(scope="module")
def decisions(translator):
    return Seq2SeqDecisions(translator.network, examples(translator))


@pytest.fixture
def plain():
    translator = fresh()
    return translator, Seq2SeqDecisions(translator.network, examples(translator))


def alone(translator, source, target):
    """Log-probabilities and weights of one example, run whole and without padding."""
    begun = torch.tensor([[Vocabulary.BEGIN, *target]])
    with torch.no_grad():
        decoded = translator.network(
            torch.tensor([source]), torch.tensor([len(source)]), begun, need_weights=True
        )
    return decoded.logits[0].log_softmax(-1), decoded.weights[0]


def test_a_row_is_a_token_of_an_example_and_its_own_weights_give_its_own_output(
    translator, decisions
):
    assert isinstance(decisions, Decisions)
    assert len(decisions.weights) == NUM_ROWS
    answers = decisions.respond(decisions.weights).detach()
    for number, (source, target) in enumerate(examples(translator)):
        rows = decisions.examples == number
        log_probs, weights = alone(translator, source, target)
        torch.testing.assert_close(answers[rows], log_probs, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(
            decisions.weights[rows, : len(source)], weights, rtol=1e-4, atol=1e-5
        )
        assert (decisions.may_attend[rows].sum(-1) == len(source)).all()


def test_identity_edits_change_no_bit(decisions):
    own = decisions.weights
    answers = decisions.respond(own)
    assert decisions.respond(own.clone()).equal(answers)
    assert decisions.respond(erase(own, decisions.may_attend)).equal(answers)


def test_other_weights_change_the_step_as_if_the_network_had_looked_so(translator, decisions):
    """Against the decoder run with all values replaced by their average under the weights."""
    random = torch.rand(decisions.weights.shape, generator=generator())
    weights = erase(random, decisions.may_attend)
    answers = decisions.respond(weights).detach()
    decoder = translator.network.decoder
    row = 0
    for source, target in examples(translator):
        with torch.no_grad():
            encoded = translator.network.encoder(
                torch.tensor([source]), torch.tensor([len(source)])
            )
            state = decoder.begin(encoded)
            for token in [Vocabulary.BEGIN, *target]:
                context = weights[row, : len(source)] @ encoded.states[0]
                looked = state._replace(value=context.expand_as(state.value).contiguous())
                step = decoder.step(torch.tensor([token]), looked)
                torch.testing.assert_close(
                    answers[row], step.logits[0].log_softmax(-1), rtol=1e-4, atol=1e-5
                )
                state = decoder.step(torch.tensor([token]), state).state
                row += 1


def test_the_slope_of_the_weights_is_that_of_the_output(decisions):
    slope = weight_gradient(decisions)
    own = decisions.weights
    decided = decisions.respond(own).argmax(-1, keepdim=True)
    for key in range(2):
        probs = []
        for steps in range(3):  # only upwards: weights are never negative
            moved = own.clone()
            moved[:, key] += 1e-2 * steps
            probs.append(decisions.respond(moved).exp().gather(-1, decided)[:, 0].detach())
        by_differences = (4 * probs[1] - 3 * probs[0] - probs[2]) / 2e-2
        torch.testing.assert_close(slope[:, key], by_differences, rtol=0.03, atol=2e-3)


def test_leave_one_out_is_the_network_on_the_shorter_source(translator, decisions):
    worth = leave_one_out(decisions, "deleted")
    for number, (source, target) in enumerate(examples(translator)):
        rows = decisions.examples == number
        whole, _ = alone(translator, source, target)
        for j in range(len(source)):
            without, _ = alone(translator, source[:j] + source[j + 1 :], target)
            torch.testing.assert_close(
                worth[rows, j], total_variation(whole, without), rtol=1e-3, atol=1e-5
            )
        assert (worth[rows, len(source) :] == 0).all()


def test_the_unknown_token_stands_in_place_of_what_is_removed(translator, decisions):
    keep = decisions.may_attend.clone()
    keep[:, 1] = False
    answers = decisions.respond_without(keep, "unknown token")
    for number, (source, target) in enumerate(examples(translator)):
        replaced, _ = alone(translator, [source[0], Vocabulary.UNKNOWN, *source[2:]], target)
        torch.testing.assert_close(
            answers[decisions.examples == number], replaced, rtol=1e-4, atol=1e-5
        )


def test_the_mean_embedding_stands_in_place_of_what_is_removed(plain):
    translator, decisions = plain
    keep = decisions.may_attend.clone()
    keep[:, 0] = False
    answers = decisions.respond_without(keep, "mean embedding")
    tables = translator.network.encoder.embedding.tables
    with torch.no_grad():
        for table in tables:  # a network of its own whose unknown token is the mean
            table.weight[Vocabulary.UNKNOWN] = table.weight[4:-1].mean(0)
    assert len(tables[0].weight[4:-1]) == 6  # a to f
    for number, (source, target) in enumerate(examples(translator)):
        replaced, _ = alone(translator, [Vocabulary.UNKNOWN, *source[1:]], target)
        torch.testing.assert_close(
            answers[decisions.examples == number], replaced, rtol=1e-4, atol=1e-5
        )


def test_what_is_resampled_is_a_token_of_the_sources_and_what_is_kept_stays(plain):
    _, decisions = plain
    kept = decisions.respond_without(decisions.may_attend, "resampled")
    torch.testing.assert_close(
        kept, decisions.respond(decisions.weights).detach(), rtol=1e-4, atol=1e-5
    )
    keep = decisions.may_attend.clone()
    keep[:, 0] = False
    first, second = (decisions.respond_without(keep, "resampled") for _ in range(2))
    assert first.equal(second)  # the same draws for all that is compared
    assert total_variation(kept, first).max() > 0.01
    torch.testing.assert_close(first.exp().sum(-1), torch.ones(NUM_ROWS))


def test_the_input_gradient_is_that_of_scaling_a_tokens_embeddings(plain):
    """By finite differences, in a network whose weights are held fixed by hand."""
    translator, decisions = plain
    gradient = decisions.input_gradient()
    torch.testing.assert_close(gradient.sum(-1), torch.ones(NUM_ROWS))
    tables = translator.network.encoder.embedding.tables
    source, target = examples(translator)[0]  # fade: every letter once
    rows = decisions.examples == 0
    decided = decisions.respond(decisions.weights)[rows].argmax(-1, keepdim=True)
    slopes = []
    for token in source:
        probs = []
        for scale in (1.01, 0.99):
            with torch.no_grad():
                for table in tables:
                    table.weight[token] *= scale
                probs.append(
                    _with_weights_held(translator, source, target, decisions.weights[rows])
                )
                for table in tables:
                    table.weight[token] /= scale
        slopes.append((probs[0] - probs[1]).gather(-1, decided)[:, 0].abs() / 0.02)
    slopes = torch.stack(slopes, dim=-1)
    torch.testing.assert_close(
        gradient[rows, :4], slopes / slopes.sum(-1, keepdim=True), rtol=0.05, atol=0.01
    )


def _with_weights_held(translator, source, target, weights):
    decoder = translator.network.decoder
    encoded = translator.network.encoder(torch.tensor([source]), torch.tensor([len(source)]))
    state, probs = decoder.begin(encoded), []
    for step, token in enumerate([Vocabulary.BEGIN, *target]):
        context = weights[step, : len(source)] @ encoded.states[0]
        looked = state._replace(value=context.expand_as(state.value).contiguous())
        outcome = decoder.step(torch.tensor([token]), looked)
        probs.append(outcome.logits[0].softmax(-1))
        state = outcome.state._replace(value=state.value)
    return torch.stack(probs)


def test_the_gradient_leaves_nothing_behind(plain):
    translator, decisions = plain
    decisions.input_gradient()
    weight_gradient(decisions)
    assert all(parameter.grad is None for parameter in translator.network.parameters())
    tables = translator.network.encoder.embedding.tables
    assert not any(table._forward_hooks for table in tables)


def test_the_position_baseline_follows_the_diagonal(plain):
    _, decisions = plain
    rows = decisions.examples == 0  # four tokens and the end, of four letters
    assert decisions.by_position[rows, :4].argmax(-1).tolist() == [0, 1, 1, 2, 3] or (
        decisions.by_position[rows, :4].argmax(-1).tolist() == [0, 1, 2, 2, 3]
    )


def test_a_uniform_model_makes_permutation_a_no_op():
    translator = fresh(attention="uniform")
    decisions = Seq2SeqDecisions(translator.network, examples(translator))
    lengths = decisions.may_attend.sum(-1)
    torch.testing.assert_close(decisions.weights.amax(-1), 1 / lengths)
    change = permute(decisions, num_permutations=5, generator=generator()).median_change
    assert (change == 0).all()  # bit for bit


def test_equal_values_make_permutation_a_no_op():
    """A model whose encoder says the same everywhere cannot show where it looked."""
    translator = fresh()
    tables = translator.network.encoder.embedding.tables
    with torch.no_grad():
        for table in tables:
            table.weight.zero_()
        for name, parameter in translator.network.encoder.named_parameters():
            if "weight_hh" in name:
                parameter.zero_()
            if "bias" in name:
                parameter.zero_()
    decisions = Seq2SeqDecisions(translator.network, examples(translator))
    change = permute(decisions, num_permutations=5, generator=generator()).median_change
    assert change.max() < 1e-6
