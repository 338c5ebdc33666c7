"""What encoders and decoders refuse, each with what was given, the rule, and the fix."""

import pytest
import torch

from regard import Mask, scores
from regard.layers import (
    BahdanauDecoder,
    Encoded,
    FixedContextDecoder,
    LockedDropout,
    LuongDecoder,
    RecurrentEncoder,
    WindowEmbedding,
)

ENCODER_SIZES = {"vocab_size": 10, "embed_dim": 4, "hidden_dim": 3}
SIZES = {"vocab_size": 9, "embed_dim": 4, "hidden_dim": 5, "state_dim": 6}
SCORE = scores.Bilinear(query_dim=5, key_dim=6)
BUILDERS = {
    "FixedContextDecoder": lambda **choices: FixedContextDecoder(**SIZES | choices),
    "BahdanauDecoder": lambda **choices: BahdanauDecoder(**SIZES | {"score": SCORE} | choices),
    "LuongDecoder": lambda **choices: LuongDecoder(**SIZES | {"score": SCORE} | choices),
}
ENCODER = RecurrentEncoder(**ENCODER_SIZES)
DECODERS = {name: build() for name, build in BUILDERS.items()}
SOURCE, LENGTHS = torch.tensor([[4, 5, 6, 7, 8], [9, 4, 5, 0, 0]]), torch.tensor([5, 3])
TARGET = torch.tensor([[2, 4, 8], [2, 7, 5]])


def encoded():
    return ENCODER(SOURCE, LENGTHS)


REFUSED_SOURCES = {
    "one length for two": (
        (SOURCE, torch.tensor([5])),
        ValueError,
        r"tokens \(2, 5\), lengths \(1,\)\. .*one length for each.*Give lengths of shape \(2,\)",
    ),
    "three lengths for two": (
        (SOURCE, torch.tensor([5, 3, 1])),
        ValueError,
        r"lengths \(3,\)\. .*shape \(2,\)",
    ),
    "ids that are no whole numbers": (
        (SOURCE.float(), LENGTHS),
        TypeError,
        r"tokens \(2, 5\) is float32. It holds whole numbers.*tokens\.long\(\)",
    ),
    "ids of NumPy": (
        (SOURCE.numpy(), LENGTHS),
        TypeError,
        r"tokens is a ndarray.*torch tensor.*torch\.tensor\(\.\.\.\)",
    ),
    "a single example": (
        (SOURCE[0], LENGTHS),
        ValueError,
        r"tokens \(5,\)\. It must be \(batch, source_len\).*tokens\[None\]",
    ),
    "one-hot ids": ((SOURCE[..., None], LENGTHS), ValueError, r"tokens \(2, 5, 1\).*\[:, 0\]"),
    "a list of lengths": ((SOURCE, [5, 3]), TypeError, "lengths is a list"),
    "a mask for lengths": ((SOURCE, Mask.lengths([5, 3])), TypeError, "lengths is a Lengths"),
    "bool lengths": ((SOURCE, LENGTHS > 3), TypeError, r"lengths \(2,\) is bool"),
    "an id beyond the vocabulary": (
        (SOURCE + 9, LENGTHS),
        ValueError,
        r"tokens\[0, 0\] is 13, tokens \(2, 5\)\. Ids .* are 0 to 9.*larger vocab_size, or encode",
    ),
    "the id just beyond, which torch would take": (
        (SOURCE + 1, LENGTHS),
        ValueError,
        r"tokens\[1, 0\] is 10",
    ),
    "an id below 0": ((SOURCE - 5, LENGTHS), ValueError, r"tokens\[0, 0\] is -1"),
}


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("given", "error", "message"), REFUSED_SOURCES.values(), ids=REFUSED_SOURCES
)
def test_a_source_is_refused_in_words(given, error, message):
    for module in (ENCODER, WindowEmbedding(10, 4, window=3)):
        with pytest.raises(error, match=f"^encoder: .*{message}"):
            module(*given)


@pytest.mark.parametrize("junk", [-1, 10, 1000])
def test_padding_may_hold_any_number(junk):
    padding = torch.arange(5) >= LENGTHS[:, None]
    for encoder in (ENCODER, RecurrentEncoder(**ENCODER_SIZES, window=3)):  # with neighbours too
        states = encoder(SOURCE.masked_fill(padding, junk), LENGTHS).states
        right = encoder(SOURCE, LENGTHS).states
        torch.testing.assert_close(states, right, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_ids_and_lengths_may_have_either_width(dtype):
    states = ENCODER(SOURCE.to(dtype), LENGTHS.to(dtype)).states
    torch.testing.assert_close(states, encoded().states, rtol=0, atol=0)
    for decoder in DECODERS.values():
        assert decoder(encoded(), TARGET.to(dtype)).logits.shape == (2, 3, 9)


REFUSED_TARGETS = {
    "ids that are no whole numbers": (
        lambda decoder: decoder(encoded(), TARGET.float()),
        TypeError,
        r"tokens \(2, 3\) is float32",
    ),
    "an id beyond the vocabulary": (
        lambda decoder: decoder(encoded(), TARGET + 1),
        ValueError,
        r"tokens\[0, 2\] is 9, tokens \(2, 3\)\. Ids .* are 0 to 8",
    ),
    "an id below 0": (
        lambda decoder: decoder(encoded(), TARGET - 3),
        ValueError,
        r"tokens\[0, 0\] is -1",
    ),
    "a single example": (
        lambda decoder: decoder(encoded(), TARGET[0]),
        ValueError,
        r"tokens \(3,\)\. It must be \(batch, target_len\).*tokens\[None\]",
    ),
    "one target for two sources": (
        lambda decoder: decoder(encoded(), TARGET[:1]),
        ValueError,
        r"tokens \(1, 3\), states \(2, 5, 6\)\. .*as many targets as sources.*Give a batch of 2",
    ),
    "an empty target": (
        lambda decoder: decoder(encoded(), TARGET[:, :0]),
        ValueError,
        r"tokens \(2, 0\) are empty.*begin token first",
    ),
    "the states alone": (
        lambda decoder: decoder(encoded().states, TARGET),
        TypeError,
        r"encoded is a Tensor.*whole. Write decoder\(encoder\(source, lengths\), tokens\)",
    ),
    "arguments in another order": (
        lambda decoder: decoder(TARGET, encoded()),
        TypeError,
        "encoded is a Tensor",
    ),
    "the states alone, to begin with": (
        lambda decoder: decoder.begin(encoded().states),
        TypeError,
        "encoded is a Tensor",
    ),
    "an encoder of another width": (
        lambda decoder: decoder(
            RecurrentEncoder(**ENCODER_SIZES | {"hidden_dim": 4})(SOURCE, LENGTHS), TARGET
        ),
        ValueError,
        r"states \(2, 5, 8\), final \(1, 2, 8\).*state_dim=6.*state_dim=encoder.state_dim",
    ),
    "a source without its batch": (
        lambda decoder: decoder(Encoded(encoded().states[0], encoded().final, None), TARGET),
        ValueError,
        r"states \(5, 6\), final \(1, 2, 6\)\. They must be \(batch, source_len, state_dim\)",
    ),
    "a step's arguments in another order": (
        lambda decoder: decoder.step(decoder.begin(encoded()), TARGET[:, 0]),
        TypeError,
        r"state is a Tensor.*Write decoder\.step\(tokens, state\)",
    ),
    "a step from the source": (
        lambda decoder: decoder.step(TARGET[:, 0], encoded()),
        TypeError,
        r"state is a Encoded.*decoder\.begin\(encoded\)",
    ),
    "a step of many tokens": (
        lambda decoder: decoder.step(TARGET, decoder.begin(encoded())),
        ValueError,
        r"tokens \(2, 3\)\. It must be \(batch,\)\. .*tokens\[:, 0\]",
    ),
    "a step of one token for two sources": (
        lambda decoder: decoder.step(TARGET[:1, 0], decoder.begin(encoded())),
        ValueError,
        r"tokens \(1,\), states \(2, 5, 6\)",
    ),
    "a step with an unknown id": (
        lambda decoder: decoder.step(TARGET[:, 2] + 1, decoder.begin(encoded())),
        ValueError,
        r" is 9, tokens .*Ids .* are 0 to 8",
    ),
}


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize(
    ("call", "error", "message"), REFUSED_TARGETS.values(), ids=REFUSED_TARGETS
)
def test_a_decoder_refuses_in_words(call, error, message, name):
    with pytest.raises(error, match=f"^{name}: .*{message}"):
        call(DECODERS[name])


REFUSED_CHOICES = [
    *(({size: 0}, ValueError, f"{size}=0.*at least 1") for size in (*ENCODER_SIZES, "num_layers")),
    *(({size: -2}, ValueError, f"{size}=-2.*at least 1") for size in ENCODER_SIZES),
    ({"embed_dim": 2.5}, TypeError, "embed_dim=2.5 is a float.*whole number"),
    ({"vocab_size": 10**13}, ValueError, "vocab_size=10000000000000.*at most 100,000,000"),
    ({"hidden_dim": 2**20 + 1}, ValueError, "hidden_dim=1048577.*at most 1,048,576"),
    ({"num_layers": 10**9}, ValueError, "num_layers=.*at most 1,024"),
    ({"cell": "rnn"}, ValueError, "cell='rnn' is unknown. Choose one of: gru, lstm"),
    ({"cell": ["gru"]}, ValueError, r"cell=\['gru'\] is unknown"),
    ({"dropout": 2}, ValueError, "dropout=2.*at least 0 and below 1. Use 0.0"),
    ({"dropout": -1}, ValueError, "dropout=-1"),
    ({"dropout": float("nan")}, ValueError, "dropout=nan"),
    ({"dropout": "x"}, TypeError, "dropout='x' is a str"),
    ({"dropout": True}, TypeError, "dropout=True is a bool"),
]


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("name", ["RecurrentEncoder", *BUILDERS])
@pytest.mark.parametrize(("choice", "error", "message"), REFUSED_CHOICES)
def test_what_nothing_can_be_built_with_is_named_by_whoever_was_given_it(
    name, choice, error, message
):
    build = BUILDERS.get(name, lambda **choices: RecurrentEncoder(**ENCODER_SIZES | choices))
    with pytest.raises(error, match=f"^{name}: {message}"):
        build(**choice)


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("name", BUILDERS)
def test_a_state_dim_of_nothing_is_named(name):
    with pytest.raises(ValueError, match=f"^{name}: state_dim=0"):
        BUILDERS[name](state_dim=0)


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize("name", ["BahdanauDecoder", "LuongDecoder"])
@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ({"score": "dot"}, TypeError, r"score='dot' is a str.*scores\.make_score\('general', q"),
        (
            {"score": scores.Bilinear(query_dim=5, key_dim=7)},
            ValueError,
            r"score is Bilinear\(query_dim=5, key_dim=7.*state_dim=6.*query_dim=5, key_dim=6\)",
        ),
        ({"score": scores.Dot()}, ValueError, "score is Dot.*needs both of one width"),
        (
            {"score": scores.Bilinear(query_dim=5, key_dim=6, num_heads=2)},
            ValueError,
            "there are no heads",
        ),
        ({"source_summary": "no"}, TypeError, "source_summary='no' is a str.*True or False"),
    ],
)
def test_a_score_that_does_not_fit_is_refused_when_it_is_given(name, choice, error, message):
    with pytest.raises(error, match=f"^{name}: .*{message}"):
        BUILDERS[name](**choice)


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda: RecurrentEncoder(**ENCODER_SIZES, bidirectional="no"),
            TypeError,
            "^RecurrentEncoder: bidirectional='no' is a str.*Give True or False",
        ),
        (
            lambda: RecurrentEncoder(**ENCODER_SIZES, window=2.5),
            TypeError,
            "^RecurrentEncoder: window=2.5.*odd whole number",
        ),
        (
            lambda: RecurrentEncoder(**ENCODER_SIZES, window=10**9 + 1),
            ValueError,
            "^RecurrentEncoder: window=1000000001.*up to 99",
        ),
        (lambda: WindowEmbedding(10, 4, window=2), ValueError, "^WindowEmbedding: window=2.*odd"),
        (
            lambda: BUILDERS["LuongDecoder"](input_feeding=1),
            TypeError,
            "^LuongDecoder: input_feeding=1 is a int",
        ),
        (lambda: LockedDropout(1.0), ValueError, "^LockedDropout: p=1.0.*below 1"),
        (lambda: LockedDropout(None), TypeError, "^LockedDropout: p=None is a NoneType"),
    ],
)
def test_a_choice_out_of_its_range_is_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()
