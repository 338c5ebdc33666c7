"""The one-node recurrence against the decoder's own loop: values and every derivative."""

import itertools

import pytest
import torch

from regard import scores
from regard.layers import BahdanauDecoder, RecurrentEncoder

SHAPES = [(3, 5, 4), (4, 4, 4), (1, 6, 1)]  # batch, source_len, target_len


def make(batch, source_len, target_len, padded, **score_choices):
    torch.manual_seed(0)
    encoder = RecurrentEncoder(vocab_size=12, embed_dim=4, hidden_dim=3).double()
    score = scores.Additive(query_dim=5, key_dim=6, attn_dim=7, **score_choices)
    if score.bias is not None:
        torch.nn.init.normal_(score.bias)
    decoder = BahdanauDecoder(
        vocab_size=9, embed_dim=4, hidden_dim=5, state_dim=6, score=score
    ).double()
    lengths = torch.full((batch,), source_len)
    if padded:
        lengths[0] = source_len - 2
    encoded = encoder(torch.randint(4, 12, (batch, source_len)), lengths)
    return encoder, decoder, encoded, torch.randint(2, 9, (batch, target_len))


def read(decoder, encoded, tokens, name):
    projected = decoder.cells.project_inputs(decoder.embedding(tokens))
    return getattr(decoder, name)(projected, decoder.begin(encoded), True)


@pytest.mark.parametrize("choices", [{}, {"bias": True}, {"normalized": True}], ids=str)
@pytest.mark.parametrize(("shape", "padded"), list(itertools.product(SHAPES, (False, True))))
def test_it_gives_the_loops_values_and_gradients(shape, padded, choices):
    encoder, decoder, encoded, tokens = make(*shape, padded, **choices)
    assert decoder._is_classical()
    fast = read(decoder, encoded, tokens, "_read_in_one_node")
    slow = read(decoder, encoded, tokens, "_read_step_by_step")
    parameters = [
        *encoder.parameters(),
        decoder.embedding.weight,
        *decoder.score.parameters(),
        *decoder.cells.parameters(),
        *decoder.initial.parameters(),
    ]
    weighting = [torch.randn_like(part) for part in slow]
    gradients = [
        torch.autograd.grad(
            sum((w * part).sum() for w, part in zip(weighting, outcome, strict=True)),
            parameters,
            retain_graph=True,
        )
        for outcome in (fast, slow)
    ]
    for ours, right in zip(fast, slow, strict=True):
        torch.testing.assert_close(ours, right)
    for ours, right in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, right)


def test_gradients_of_gradients_are_the_loops_too():
    _, decoder, encoded, tokens = make(3, 5, 4, True)
    parameters = [decoder.score.v, decoder.score.query_weight, decoder.cells.from_state[0].weight]
    seconds = []
    for name in ("_read_in_one_node", "_read_step_by_step"):
        states, contexts, weights = read(decoder, encoded, tokens, name)
        loss = (states**2).sum() + (contexts**3).sum() + (weights**2).sum()
        first = torch.autograd.grad(loss, parameters, create_graph=True)
        penalty = sum((gradient**2).sum() for gradient in first)
        seconds.append(torch.autograd.grad(penalty, parameters, retain_graph=True))
    for ours, right in zip(*seconds, strict=True):
        torch.testing.assert_close(ours, right)


def test_only_the_papers_own_decoder_takes_it():
    def decoder(score, **choices):
        return BahdanauDecoder(
            vocab_size=9, embed_dim=4, hidden_dim=6, state_dim=6, score=score, **choices
        )

    sizes = {"query_dim": 6, "key_dim": 6, "attn_dim": 5}
    assert decoder(scores.Additive(**sizes))._is_classical()
    assert not decoder(scores.Additive(**sizes), cell="lstm")._is_classical()
    assert not decoder(scores.Additive(**sizes), num_layers=2)._is_classical()
    assert not decoder(scores.Concat(**sizes))._is_classical()
    assert not decoder(scores.Dot())._is_classical()


def test_autocast_leaves_it_in_the_dtype_of_the_weights_forward_and_backward():
    _, decoder, encoded, tokens = make(3, 5, 4, True)
    decoder = decoder.float()
    encoded = encoded._replace(states=encoded.states.float(), final=encoded.final.float())
    gradients = []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            outcome = read(decoder, encoded, tokens, "_read_in_one_node")
            assert {part.dtype for part in outcome} == {torch.float32}
            loss = sum((part**2).sum() for part in outcome)
            gradients.append(
                torch.autograd.grad(loss, list(decoder.cells.parameters()), retain_graph=True)
            )
    for mixed, right in zip(*gradients, strict=True):
        torch.testing.assert_close(mixed, right, atol=0.05, rtol=0.1)
