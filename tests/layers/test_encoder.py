"""Encoders: padding never touches a state, and both directions end up where they belong.

Of the collection of known faults: 14 (a source of length 0 is named), 79 (no longest source), 82
(states run over padding, forwards and backwards).
"""

import pytest
import torch

from regard.layers import CELLS, RecurrentEncoder


def make_encoder(cell="gru", num_layers=2, bidirectional=True, **sizes):
    torch.manual_seed(0)
    defaults = {"vocab_size": 11, "embed_dim": 5, "hidden_dim": 3} | sizes
    return RecurrentEncoder(
        cell=cell, num_layers=num_layers, bidirectional=bidirectional, **defaults
    ).eval()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("window", [1, 5])
def test_padding_never_touches_a_state(window, cell, num_layers, bidirectional):
    encoder = make_encoder(cell, num_layers, bidirectional, window=window)
    sources = [[4, 5, 6, 7], [8, 9], [10]]
    padded = torch.tensor([[4, 5, 6, 7], [8, 9, 3, 2], [10, 1, 1, 1]])  # junk where padding is
    together = encoder(padded, torch.tensor([4, 2, 1]))
    for row, source in enumerate(sources):
        alone = encoder(torch.tensor([source]), torch.tensor([len(source)]))
        length = len(source)
        torch.testing.assert_close(together.states[row, :length], alone.states[0])
        torch.testing.assert_close(together.final[:, row], alone.final[:, 0])
        assert (together.states[row, length:] == 0).all()


def test_a_state_after_running_over_padding_would_be_another():
    """The fault itself: x = [1, 2, 0, 0] of length 2 must give the state after step 2."""
    encoder = make_encoder(num_layers=1)
    padded = torch.tensor([[4, 5, 0, 0]])
    right = encoder(padded, torch.tensor([2]))
    wrong = encoder(padded, torch.tensor([4]))
    assert not torch.allclose(right.final, wrong.final)
    assert not torch.allclose(right.states[0, :2], wrong.states[0, :2])  # the backward direction


@pytest.mark.parametrize("cell", CELLS)
def test_final_states_are_joined_per_sample_and_per_layer(cell):
    encoder = make_encoder(cell, num_layers=2)
    encoded = encoder(torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([3, 2]))
    assert encoded.final.shape == (2, 2, 6)  # layers, batch, both directions
    # the last layer's final state is its forward state at the last real position beside its
    # backward state at position 0
    for row, last in enumerate((2, 1)):
        torch.testing.assert_close(encoded.final[1, row, :3], encoded.states[row, last, :3])
        torch.testing.assert_close(encoded.final[1, row, 3:], encoded.states[row, 0, 3:])


def test_states_are_torchs_own_bidirectional_states():
    encoder = make_encoder("lstm", num_layers=1)
    tokens = torch.tensor([[4, 5, 6]])
    peer = torch.nn.LSTM(5, 3, batch_first=True, bidirectional=True)
    peer.load_state_dict(encoder.recurrence.layers[0].state_dict())
    outputs, (h, _) = peer(encoder.embedding(tokens, torch.tensor([3])))
    encoded = encoder(tokens, torch.tensor([3]))
    torch.testing.assert_close(encoded.states, outputs)
    torch.testing.assert_close(encoded.final[0, 0], torch.cat([h[0, 0], h[1, 0]]))


def test_state_dim_is_twice_the_hidden_size_when_bidirectional():
    assert make_encoder(bidirectional=True).state_dim == 6
    assert make_encoder(bidirectional=False).state_dim == 3


def test_a_batch_without_padding_has_no_mask_and_one_with_padding_has():
    encoder = make_encoder()
    tokens = torch.tensor([[4, 5], [6, 7]])
    assert encoder(tokens, torch.tensor([2, 2])).may_attend is None
    mask = encoder(tokens, torch.tensor([2, 1])).may_attend
    assert mask.dense_for(1, 2).tolist() == [[[True, True]], [[True, False]]]


@pytest.mark.parametrize("length", [0, 4])
def test_a_length_that_cannot_be_names_the_sample(length):
    encoder = make_encoder()
    message = rf"lengths\[1\] is {length}, tokens \(2, 3\).*at least one token"
    with pytest.raises(ValueError, match=message):
        encoder(torch.tensor([[4, 5, 6], [7, 8, 9]]), torch.tensor([3, length]))


def test_a_window_is_a_convolution_over_one_hot_tokens():
    from regard.layers import WindowEmbedding

    embedding = WindowEmbedding(7, 4, window=3)
    tokens = torch.tensor([[4, 5, 6, 2, 3]])
    one_hot = torch.nn.functional.one_hot(
        torch.nn.functional.pad(tokens, (1, 1), value=embedding.outside), 8
    ).float()
    kernel = torch.stack([table.weight.T for table in embedding.tables], dim=-1)  # out in offset
    expected = torch.nn.functional.conv1d(one_hot.mT, kernel).mT
    torch.testing.assert_close(embedding(tokens, torch.tensor([5])), expected)


@pytest.mark.parametrize("window", [0, 2, -1])
def test_a_window_without_a_middle_is_refused(window):
    with pytest.raises(ValueError, match=f"window={window}.*odd"):
        make_encoder(window=window)


def test_an_unknown_cell_is_refused_with_the_choices():
    with pytest.raises(ValueError, match=r"cell='rnn' is unknown.*gru, lstm"):
        make_encoder("rnn")


def test_any_source_length_is_encoded():
    """No buffer of fixed length: a source longer than any seen before is nothing special."""
    encoder = make_encoder(num_layers=1)
    encoded = encoder(torch.randint(4, 11, (1, 500)), torch.tensor([500]))
    assert encoded.states.shape == (1, 500, 6)


def test_dropout_is_one_mask_for_all_positions_and_off_in_evaluation():
    from regard.layers import LockedDropout, dropout_from

    dropout = LockedDropout(0.5)
    ones = torch.ones(3, 7, 40)
    with dropout_from(torch.Generator().manual_seed(5)):
        dropped = dropout(ones)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert (dropped == dropped[:, :1]).all()
    assert not (dropped[0] == dropped[1]).all()
    with dropout_from(torch.Generator().manual_seed(5)):
        assert (dropout(ones) == dropped).all()
    assert (dropout.eval()(ones) == ones).all()
