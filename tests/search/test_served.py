"""A model with learned positions decodes as far as they go, and says first what is beyond."""

import pytest
import torch

from regard.models import Side, Translator
from regard.search import predict

SIZES = {"embed_dim": 8, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
LEARNED = {"positions": "learned", "max_len": 7}


def make_translator(**choices):
    torch.manual_seed(4)
    source = Side.build("characters", ["abcdefg"])
    target = Side.build("whitespace", ["A B C"])
    return Translator.fresh(source, target, model="transformer", **SIZES | choices)


def translator_that_must_not_decode():
    def refuse(*_):
        raise AssertionError("a source was encoded")

    translator = make_translator(**LEARNED)
    translator.network.encoder.register_forward_pre_hook(refuse)
    return translator


def test_only_learned_positions_limit_a_network():
    assert make_translator().network.max_len is None
    assert make_translator(positions="learned").network.max_len == 512
    assert make_translator(**LEARNED).network.max_len == 7
    source, target = make_translator().source, make_translator().target
    assert Translator.fresh(source, target, hidden_dim=8).network.max_len is None


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    ("choices", "source", "longest"),
    [
        (LEARNED, "abc", 7),  # 2 · 3 + 10 is beyond
        (LEARNED, "abcdefg", 7),  # a source as long as they go
        (LEARNED | {"max_len": 30}, "abc", 16),
        ({}, "abcdefg", 24),
    ],
    ids=str,
)
def test_the_default_longest_target_is_as_far_as_positions_go(beam, choices, source, longest):
    translator = make_translator(**choices)
    (prediction,) = predict(translator, [source], beam=beam, min_length=min(7, longest))
    assert 7 <= len(prediction.target_tokens) <= longest
    never_ends = make_translator(**choices)
    with torch.no_grad():
        never_ends.network.decoder.to_logits.bias[never_ends.target.vocabulary.END] = -1e4
    (prediction,) = predict(never_ends, [source], beam=beam)
    assert len(prediction.target_tokens) == longest


@pytest.mark.parametrize("beam", [1, 3])
def test_what_positions_just_serve_may_be_asked_for(beam):
    translator = make_translator(**LEARNED)
    for limits in ({"max_length": 7}, {"min_length": 7}, {"prefix": "A B C A B C A"}):
        assert predict(translator, ["abc", ""], beam=beam, **limits)[0].target


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_length": 8}, r"max_length=8, but .* targets of 7 tokens\..*Give max_length=7 or"),
        ({"min_length": 9}, r"min_length=9, but .* targets of 7 tokens\..*Give min_length=7 or"),
        ({"prefix": "A B C A B C A B"}, r"prefix='A B C A B C A B' has 8 tokens, .* 7 tokens\."),
        ({"prefix": ["", "A B C A B C A B"]}, r"prefix='A B C A B C A B' has 8 tokens"),
    ],
    ids=str,
)
def test_lengths_beyond_are_refused_before_anything_is_decoded(limits, message):
    with pytest.raises(ValueError, match=message):
        predict(translator_that_must_not_decode(), ["a", "ab"], **limits)


def test_a_source_beyond_is_named_before_anything_is_decoded():
    with pytest.raises(ValueError, match=r"the source 'abcdefga' has 8 tokens, but .* serve 7\."):
        predict(translator_that_must_not_decode(), ["a", "abcdefga", "abcdefg"])
