"""Embeddings tied to the output, and residual connections between recurrent layers."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard import scores
from regard.layers import (
    CELLS,
    BahdanauDecoder,
    FixedContextDecoder,
    LuongDecoder,
    RecurrentEncoder,
    TransformerDecoder,
    TransformerEncoder,
)

SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 8], [9, 8, 0, 0]]), torch.tensor([4, 2])
TARGET = torch.tensor([[2, 4, 5], [2, 7, 8]])
KINDS = ("fixed", "bahdanau", "luong", "luong+feeding", "transformer")


def made(kind, *, hidden_dim=6, **options):
    """An encoder and a decoder, embeddings 4 wide."""
    torch.manual_seed(1)
    if kind == "transformer":
        sizes = {"embed_dim": 4, "num_heads": 2, "ff_dim": 5, "num_layers": 2}
        encoder = TransformerEncoder(vocab_size=12, **sizes)
        return encoder.double().eval(), TransformerDecoder(
            vocab_size=9, **sizes, **options
        ).double().eval()
    sizes = {"embed_dim": 4, "num_layers": 3, "cell": options.pop("cell", "gru")}
    residual = {"residual": options.get("residual", False)}
    encoder = RecurrentEncoder(vocab_size=12, hidden_dim=5, **sizes, **residual)
    sizes |= {"vocab_size": 9, "hidden_dim": hidden_dim, "state_dim": 10}
    if kind == "fixed":
        decoder = FixedContextDecoder(**sizes, **options)
    else:
        score = scores.Additive(query_dim=hidden_dim, key_dim=10, attn_dim=7)
        if kind == "bahdanau":
            decoder = BahdanauDecoder(**sizes, score=score, **options)
        else:
            feeding = "feeding" in kind
            decoder = LuongDecoder(**sizes, score=score, input_feeding=feeding, **options)
    return encoder.double().eval(), decoder.double().eval()


def output_of(decoder):
    return decoder.readout if hasattr(decoder, "readout") else decoder


@pytest.mark.parametrize("kind", KINDS)
def test_tied_logits_are_the_embeddings_times_the_last_layer(kind):
    encoder, decoder = made(kind, tied_embeddings=True)
    _, plain = made(kind)
    tied, untied = output_of(decoder), output_of(plain)
    state = {name: part for name, part in decoder.state_dict().items() if "to_logits" not in name}
    plain.load_state_dict(state, strict=False)
    # the same matrix, written out
    table = decoder.embedding.weight.detach() / 2  # √4
    project = tied.to_logits.project
    if isinstance(project, nn.Linear):
        table = table @ project.weight.detach()
    torch.nn.init.normal_(tied.to_logits.bias)
    with torch.no_grad():
        untied.to_logits.weight.copy_(table)
        untied.to_logits.bias.copy_(tied.to_logits.bias)
    encoded = encoder(SOURCE, LENGTHS)
    assert_close(decoder(encoded, TARGET).logits, plain(encoded, TARGET).logits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tied_table_is_one_parameter_also_of_a_copy(kind):
    encoder, decoder = made(kind, tied_embeddings=True)
    shapes = [tuple(parameter.shape) for parameter in decoder.parameters()]
    assert shapes.count((9, 4)) == 1
    assert sum(tuple(part.shape) == (9, 4) for part in decoder.state_dict().values()) == 1
    other = copy.deepcopy(decoder)
    assert output_of(other).to_logits._embedding[0] is other.embedding
    encoded = encoder(SOURCE, LENGTHS)
    before = decoder(encoded, TARGET).logits
    with torch.no_grad():
        other.embedding.weight.mul_(3.0)
    assert_close(decoder(encoded, TARGET).logits, before, rtol=0, atol=0)
    moved = other(encoded, TARGET).logits
    other.load_state_dict(decoder.state_dict(), assign=True)
    assert (moved - before).abs().max() > 0.1
    assert_close(other(encoded, TARGET).logits, before, rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_both_uses_of_a_tied_table_move_it(kind):
    encoder, decoder = made(kind, tied_embeddings=True)
    decoder(encoder(SOURCE, LENGTHS), TARGET).logits[..., 1].sum().backward()
    gradient = decoder.embedding.weight.grad
    assert gradient[1].abs().max() > 0  # only predicted
    assert gradient[7].abs().max() > 0  # only read
    assert gradient[3].abs().max() == 0  # neither


@pytest.mark.parametrize("cell", CELLS)
def test_residual_recurrent_layers_add_what_they_read(cell):
    encoder, _ = made("fixed", cell=cell, residual=True)
    embedded = encoder.embedding(SOURCE, LENGTHS)
    for row, length in enumerate(LENGTHS):
        x, total = embedded[row : row + 1, :length], 0.0
        for layer in encoder.recurrence.layers:
            total = total + layer(x)[0]
            x = total
        assert_close(encoder(SOURCE, LENGTHS).states[row, :length], total[0])
    assert encoder(SOURCE, LENGTHS).states[1, 2:].abs().max() == 0


@pytest.mark.parametrize("cell", CELLS)
def test_residual_cells_are_torchs_with_sums_between_them(cell):
    _, decoder = made("bahdanau", cell=cell, residual=True)
    cells = decoder.cells
    torch.manual_seed(3)
    projected, context = torch.randn(2, len(cells.from_inputs.bias)).double(), torch.randn(2, 10)
    context = context.double()
    before = tuple(torch.randn(3, 2, 6).double() for _ in range(2 if cell == "lstm" else 1))
    found = cells(projected, context, before)
    gates, total = projected + cells.from_context(context), 0.0
    for layer in range(3):
        own = tuple(part[layer] for part in before)
        after = cells._advance(gates, cells.from_state[layer](own[0]), own)
        assert_close(tuple(part[layer] for part in found), after)
        total = total + after[0]
        if layer < 2:
            gates = cells.from_below[layer](total)
    assert_close(cells.top(found), total)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("kind", KINDS[:4])
def test_step_by_step_equals_the_whole_with_both(kind, cell):
    encoder, decoder = made(kind, cell=cell, residual=True, tied_embeddings=True)
    encoded = encoder(SOURCE, LENGTHS)
    whole = decoder(encoded, TARGET)
    state = decoder.begin(encoded)
    for t in range(3):
        step = decoder.step(TARGET[:, t], state)
        assert_close(step.logits, whole.logits[:, t])
        state = step.state
    _, plain = made(kind, cell=cell, tied_embeddings=True)
    assert (plain(encoded, TARGET).logits - whole.logits).abs().max() > 1e-3


@pytest.mark.usefixtures("as_a_user")
def test_a_switch_is_true_or_false():
    for option in ("residual", "tied_embeddings"):
        with pytest.raises(TypeError, match=rf"FixedContextDecoder: {option}=1 is a int"):
            FixedContextDecoder(
                vocab_size=9, embed_dim=4, hidden_dim=5, state_dim=6, **{option: 1}
            )  # fmt: skip
