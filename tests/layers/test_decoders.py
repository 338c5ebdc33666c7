"""Decoders: s(t-1) or s(t), step by step or all at once, and each against its formula in NumPy.

Of the collection of known faults: 39 (states joined across the batch where batch = length) and 80
(Bahdanau's name on s(t), Luong's on s(t-1), told apart by perturbing a token).
"""

import copy
import itertools

import numpy as np
import pytest
import torch

from regard import reference, scores
from regard.layers import (
    CELLS,
    BahdanauDecoder,
    FixedContextDecoder,
    LuongDecoder,
    RecurrentEncoder,
)

SCORES = tuple(scores.NAMES)
COMPARING = tuple(name for name in SCORES if name != "uniform")
KINDS = (
    "fixed",
    "bahdanau",
    "bahdanau+summary",
    "luong",
    "luong+feeding",
    "luong+summary",
    "luong+feeding+summary",
)
VOCAB, EMBED, HIDDEN, STATE = 9, 4, 6, 6
TOKENS = torch.tensor([[2, 4, 5, 6], [2, 7, 8, 4]])


def make_encoded(lengths=(5, 3)):
    torch.manual_seed(1)
    encoder = RecurrentEncoder(vocab_size=12, embed_dim=4, hidden_dim=STATE // 2, num_layers=2)
    sources = torch.randint(4, 12, (len(lengths), max(lengths)))
    return encoder.double().eval()(sources, torch.tensor(lengths))


def make_decoder(kind, score="additive", cell="gru", num_layers=2):
    torch.manual_seed(2)
    sizes = {
        "vocab_size": VOCAB,
        "embed_dim": EMBED,
        "hidden_dim": HIDDEN,
        "state_dim": STATE,
        "cell": cell,
        "num_layers": num_layers,
    }
    if kind == "fixed":
        return FixedContextDecoder(**sizes).double().eval()
    sizes["score"] = scores.make_score(score, query_dim=HIDDEN, key_dim=STATE, attn_dim=5)
    sizes["source_summary"] = "summary" in kind
    if "bahdanau" in kind:
        return BahdanauDecoder(**sizes).double().eval()
    return LuongDecoder(**sizes, input_feeding="feeding" in kind).double().eval()


def decoders():
    yield from (("fixed", "none", cell) for cell in CELLS)
    yield from itertools.product(KINDS[1:], SCORES, CELLS)


@pytest.mark.parametrize(("kind", "score", "cell"), list(decoders()))
def test_step_by_step_equals_the_whole_sequence(kind, score, cell):
    decoder, encoded = make_decoder(kind, score, cell), make_encoded()
    whole = decoder(encoded, TOKENS, need_weights=True)
    state = decoder.begin(encoded)
    for t in range(TOKENS.shape[1]):
        step = decoder.step(TOKENS[:, t], state, need_weights=True)
        state = step.state
        torch.testing.assert_close(step.logits, whole.logits[:, t])
        if kind != "fixed":
            torch.testing.assert_close(step.weights, whole.weights[:, t])


@pytest.mark.parametrize("score", COMPARING)
@pytest.mark.parametrize("kind", KINDS[1:])
def test_perturbing_the_current_token_moves_luongs_weights_and_not_bahdanaus(kind, score):
    """Contract 7: s(t-1) or s(t) is a named choice."""
    decoder, encoded = make_decoder(kind, score), make_encoded()
    step = 2
    perturbed = TOKENS.clone()
    perturbed[:, step] = 3
    before = decoder(encoded, TOKENS, need_weights=True).weights
    after = decoder(encoded, perturbed, need_weights=True).weights
    torch.testing.assert_close(after[:, :step], before[:, :step])  # the past is the past
    moved = (after[:, step] - before[:, step]).abs().max()
    if "bahdanau" in kind:
        assert moved == 0.0
        assert (after[:, step + 1] - before[:, step + 1]).abs().max() > 1e-9
    else:
        assert moved > 1e-9


@pytest.mark.parametrize("kind", KINDS[1:])
def test_weights_sum_to_one_over_real_keys_and_are_zero_on_padding(kind):
    weights = make_decoder(kind)(make_encoded((5, 3)), TOKENS, need_weights=True).weights
    assert weights.shape == (2, 4, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, dtype=torch.double))
    assert (weights[1, :, 3:] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_asking_for_weights_changes_nothing(kind):
    decoder, encoded = make_decoder(kind), make_encoded()
    asked = decoder(encoded, TOKENS, need_weights=True)
    not_asked = decoder(encoded, TOKENS)
    assert not_asked.weights is None
    torch.testing.assert_close(asked.logits, not_asked.logits)


@pytest.mark.parametrize("kind", KINDS)
def test_no_example_feels_another(kind):
    decoder = make_decoder(kind)
    lengths, sources = torch.tensor([5, 5, 5]), torch.randint(4, 12, (3, 5))
    torch.manual_seed(1)
    encoder = RecurrentEncoder(vocab_size=12, embed_dim=4, hidden_dim=3, num_layers=2).double()
    tokens = torch.tensor([[2, 4, 5], [2, 6, 7], [2, 8, 3]])  # batch = target length
    before = decoder(encoder(sources, lengths), tokens).logits
    sources[0], tokens[0] = 4, 5
    after = decoder(encoder(sources, lengths), tokens).logits
    torch.testing.assert_close(after[1:], before[1:])
    assert not torch.allclose(after[0], before[0])


@pytest.mark.parametrize("kind", KINDS)
def test_other_sources_are_never_answered_with_stale_keys(kind):
    decoder = make_decoder(kind)
    first, second = make_encoded((5, 3)), make_encoded((2, 4))
    fresh = copy.deepcopy(decoder)(second, TOKENS).logits
    decoder(first, TOKENS)
    torch.testing.assert_close(decoder(second, TOKENS).logits, fresh)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_of_some_rows_goes_on_as_these_rows_did(kind):
    """Rows taken twice, left out and in another order, their masks with them."""
    decoder, encoded = make_decoder(kind), make_encoded((5, 3, 4))
    state = decoder.step(torch.tensor([2, 2, 2]), decoder.begin(encoded)).state
    rows, tokens = torch.tensor([2, 1, 1, 2]), torch.tensor([4, 5, 6, 7])
    together = decoder.step(tokens, state.index_select(rows), need_weights=True)
    for place, (row, token) in enumerate(zip(rows.tolist(), tokens.tolist(), strict=True)):
        alone = decoder.step(torch.full((3,), token), state, need_weights=True)
        torch.testing.assert_close(together.logits[place], alone.logits[row])
        if together.weights is not None:
            torch.testing.assert_close(together.weights[place], alone.weights[row])


@pytest.mark.parametrize("kind", KINDS)
def test_a_reordered_state_is_one_of_the_same_sources(kind):
    decoder, encoded = make_decoder(kind), make_encoded((5, 3))
    twice = decoder.begin(encoded).index_select(torch.tensor([0, 0, 1, 1]))
    state = decoder.step(torch.tensor([2, 4, 5, 6]), twice).state
    parents, tokens = torch.tensor([1, 1, 3, 2]), torch.tensor([4, 5, 6, 7])
    reordered = state.reorder(parents)
    assert reordered.key is state.key
    assert reordered.value is state.value
    found = decoder.step(tokens, reordered, need_weights=True)
    expected = decoder.step(tokens, state.index_select(parents), need_weights=True)
    torch.testing.assert_close(found.logits, expected.logits)
    if found.weights is not None:
        torch.testing.assert_close(found.weights, expected.weights)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_gets_a_finite_gradient(kind):
    decoder = make_decoder(kind)
    decoder(make_encoded(), TOKENS).logits.logsumexp(-1).sum().backward()
    for name, parameter in decoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def numpy_gru(cells, projected, context, state):
    """torch's GRU cell in NumPy."""
    gates = projected + context @ cells.from_context.weight.detach().numpy().T
    linear = cells.from_state[0]
    recurrent = state @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    r, z = (
        sigmoid(gates[:HIDDEN] + recurrent[:HIDDEN]),
        sigmoid(gates[HIDDEN : 2 * HIDDEN] + recurrent[HIDDEN : 2 * HIDDEN]),
    )
    n = np.tanh(gates[2 * HIDDEN :] + r * recurrent[2 * HIDDEN :])
    return (1 - z) * n + z * state


@pytest.mark.parametrize("kind", ["bahdanau", "bahdanau+summary"])
def test_bahdanau_decodes_as_the_formula_says(kind):
    decoder, encoded = make_decoder(kind, num_layers=1), make_encoded()
    result = decoder(encoded, TOKENS, need_weights=True)
    W, U, v = (
        p.detach().numpy()
        for p in (decoder.score.query_weight, decoder.score.key_weight, decoder.score.v)
    )
    for row, length in enumerate((5, 3)):
        states = encoded.states[row, :length].detach().numpy()
        s = decoder.initial(encoded.final)[0][0, row].detach().numpy()
        for t in range(TOKENS.shape[1]):
            context, weights = reference.additive_attention(s, states, W, U, v)
            np.testing.assert_allclose(
                result.weights[row, t, :length].detach(), weights, atol=1e-12
            )
            embedded, final = decoder.embedding(TOKENS[row, t]), encoded.final[-1, row]
            projected = decoder.cells.from_inputs(embedded)
            if "summary" in kind:
                projected = projected + decoder.cells.from_summary.weight @ final
            s = numpy_gru(decoder.cells, projected.detach().numpy(), context, s)
            joined = torch.cat([torch.from_numpy(s), embedded, torch.from_numpy(context)])
            pairs = decoder.readout.to_pairs(joined)
            if "summary" in kind:
                pairs = pairs + decoder.readout.from_summary.weight @ final
            logits = decoder.readout.to_logits(pairs.view(-1, 2).max(-1).values)
            torch.testing.assert_close(result.logits[row, t], logits)


@pytest.mark.parametrize("kind", ["luong", "luong+summary"])
def test_luong_decodes_as_the_formula_says(kind):
    decoder, encoded = make_decoder(kind, "general", "lstm", num_layers=1), make_encoded()
    result = decoder(encoded, TOKENS, need_weights=True)
    W = decoder.score.weight.detach().numpy()
    inputs = decoder.embedding(TOKENS)
    if "summary" in kind:
        inputs = torch.cat([inputs, encoded.final[-1][:, None].repeat(1, TOKENS.shape[1], 1)], -1)
    peer = torch.nn.LSTM(inputs.shape[-1], HIDDEN, batch_first=True).double()
    peer.load_state_dict(decoder.recurrence.layers[0].state_dict())
    hidden = tuple(part.contiguous() for part in decoder.initial(encoded.final))
    outputs, _ = peer(inputs, hidden)
    for row, length in enumerate((5, 3)):
        for t in range(TOKENS.shape[1]):
            s = outputs[row, t].detach().numpy()
            context, weights = reference.general_attention(
                s, encoded.states[row, :length].detach().numpy(), W
            )
            np.testing.assert_allclose(
                result.weights[row, t, :length].detach(), weights, atol=1e-12
            )
            joined = torch.from_numpy(np.concatenate([context, s]))
            logits = decoder.to_logits(torch.tanh(decoder.to_attentional(joined)))
            torch.testing.assert_close(result.logits[row, t], logits)


@pytest.mark.parametrize("cell", CELLS)
def test_the_cells_of_a_decoder_are_torchs_cells(cell):
    """With the context as part of its input, one cell is nn.GRUCell or nn.LSTMCell."""
    from regard.layers.cells import ContextCells

    torch.manual_seed(0)
    cells = ContextCells(cell=cell, input_dim=4, context_dim=3, hidden_dim=5).double()
    peer_class = {"gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}[cell]
    peer = peer_class(7, 5).double()
    order = list(range(20 if cell == "lstm" else 15))
    if cell == "lstm":  # ours keep the three sigmoid gates together: i f o g, torch's are i f g o
        order = [*range(10), *range(15, 20), *range(10, 15)]
    with torch.no_grad():
        weight = torch.cat([cells.from_inputs.weight, cells.from_context.weight], 1)
        peer.weight_ih.copy_(weight[order])
        peer.bias_ih.copy_(cells.from_inputs.bias[order])
        peer.weight_hh.copy_(cells.from_state[0].weight[order])
        peer.bias_hh.copy_(cells.from_state[0].bias[order])
    inputs, context = torch.randn(2, 4).double(), torch.randn(2, 3).double()
    hidden = tuple(torch.randn(1, 2, 5).double() for _ in range(1 if cell == "gru" else 2))
    ours = cells(cells.project_inputs(inputs), context, hidden)
    given = hidden[0][0] if cell == "gru" else tuple(part[0] for part in hidden)
    theirs = peer(torch.cat([inputs, context], 1), given)
    for mine, other in zip(ours, (theirs,) if cell == "gru" else theirs, strict=True):
        torch.testing.assert_close(mine[0], other)


def test_the_fixed_context_is_the_same_at_every_step_and_blind_to_the_states():
    decoder, encoded = make_decoder("fixed"), make_encoded()
    changed = encoded._replace(states=encoded.states + 1)
    torch.testing.assert_close(decoder(encoded, TOKENS).logits, decoder(changed, TOKENS).logits)
    assert decoder(encoded, TOKENS, need_weights=True).weights is None


def test_the_shape_table():
    """d_s = 5, d_h = 6 (two directions of 3), d_attn = 7, T = 4 of the source, 2 of the target."""
    encoder = RecurrentEncoder(vocab_size=10, embed_dim=4, hidden_dim=3)
    score = scores.Additive(query_dim=5, key_dim=6, attn_dim=7)
    decoder = BahdanauDecoder(vocab_size=9, embed_dim=4, hidden_dim=5, state_dim=6, score=score)
    encoded = encoder(torch.tensor([[5, 6, 7, 8]]), torch.tensor([4]))
    decoded = decoder(encoded, torch.tensor([[2, 4]]), need_weights=True)
    assert encoded.states.shape == (1, 4, 6)
    assert score.query_weight.shape == (7, 5)
    assert score.key_weight.shape == (7, 6)
    assert score.v.shape == (7,)
    assert decoder.begin(encoded).hidden[0].shape == (1, 1, 5)
    assert decoder.cells.from_context.in_features == 6
    assert decoded.weights.shape == (1, 2, 4)
    assert decoded.logits.shape == (1, 2, 9)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_keys_are_zeroed_where_padding_is_once_for_all_steps(kind):
    decoder, encoded = make_decoder(kind, "general", "gru"), make_encoded()
    states = encoded.states.clone()
    hidden = encoded.may_attend.unseen_keys((*states.shape[:1], 1, states.shape[1]), states.device)
    states[hidden] = torch.nan
    key = decoder.begin(encoded._replace(states=states)).key
    assert key.is_zero_where_hidden_by(encoded.may_attend)
    assert (key.projected[hidden] == 0.0).all()
    assert hidden.any()
