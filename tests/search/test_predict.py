"""Predictions of strings: order kept, and no result depends on its neighbours."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.kernels import Workers
from regard.models import Side, Translator
from regard.search import predict


def make_translator(attention="additive"):
    torch.manual_seed(3)
    source = Side.build("characters", ["abcdefg"])
    target = Side.build("whitespace", ["A B C D E F"])
    translator = Translator.fresh(source, target, hidden_dim=12, embed_dim=6, attention=attention)
    for parameter in translator.network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)  # decided enough that rounding changes no token
    return translator


TRANSLATOR = make_translator()


@settings(max_examples=15)
@given(st.lists(st.text("abcdefgxyz", max_size=5), max_size=6), st.integers(1, 5))
def test_predictions_keep_order_and_do_not_depend_on_the_batch(sources, batch_size):
    together = predict(TRANSLATOR, sources, batch_size=batch_size, need_weights=True)
    assert [p.source for p in together] == sources
    for prediction in together:
        (alone,) = predict(TRANSLATOR, [prediction.source], need_weights=True)
        assert prediction.target == alone.target
        assert prediction.log_prob == pytest.approx(alone.log_prob, abs=1e-4)


def test_an_empty_source_gives_an_empty_target():
    (prediction,) = predict(TRANSLATOR, [""])
    assert (prediction.target, prediction.target_tokens, prediction.log_prob) == ("", [], 0.0)


def test_weights_have_a_row_per_target_token_and_sum_to_one():
    for prediction in predict(TRANSLATOR, ["abc", "gfedcb"], need_weights=True):
        shape = (len(prediction.target_tokens), len(prediction.source_tokens))
        assert prediction.weights.shape == shape
        torch.testing.assert_close(prediction.weights.sum(-1), torch.ones(shape[0]))


def test_no_special_token_is_ever_predicted():
    translator = make_translator()
    bias = translator.network.decoder.readout.to_logits.bias
    with torch.no_grad():
        bias[:3] += 100.0  # padding, unknown, begin
    for prediction in predict(translator, ["abc", "de"]):
        assert not {"<pad>", "<unk>", "<s>"} & set(prediction.target_tokens)


def test_workers_give_the_same_predictions():
    sources = ["abc", "de", "fgabcd", "a", "", "bbb"] * 5
    alone = predict(TRANSLATOR, sources, batch_size=4)
    with Workers(2) as workers:
        assert predict(TRANSLATOR, sources, batch_size=4, workers=workers) == alone


def test_a_model_without_attention_predicts_without_weights():
    (prediction,) = predict(make_translator("none"), ["abc"], need_weights=True)
    assert prediction.weights is None


def test_a_string_in_place_of_a_list_is_refused():
    with pytest.raises(TypeError, match=r"Write \[source\] for a single one"):
        predict(TRANSLATOR, "abc")


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((TRANSLATOR, None), TypeError, "sources is a NoneType. It is a list of strings"),
        ((TRANSLATOR, b"abc"), TypeError, "sources is a bytes"),
        ((TRANSLATOR, iter(["a"])), TypeError, r"sources is a list_iterator.*list\(sources\)"),
        ((TRANSLATOR, ["a", 3]), TypeError, r"sources\[1\] is 3, int. Each source is a string"),
        ((TRANSLATOR, ["a", None]), TypeError, r"sources\[1\] is None, NoneType"),
        ((TRANSLATOR, [b"a"]), TypeError, r"sources\[0\] is b'a', bytes.*Decode bytes"),
        (("folder", ["a"]), TypeError, r"translator is a str.*Translator\.from_pretrained\(folder"),
    ],
)
def test_what_cannot_be_predicted_from_is_refused_in_words(given, error, message):
    with pytest.raises(error, match=f"^predict: {message}"):
        predict(*given)


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("batch_size", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError)]
)
def test_a_batch_size_is_a_whole_number_of_at_least_one(batch_size, error):
    with pytest.raises(error, match=f"^predict: batch_size={batch_size}.*at least 1"):
        predict(TRANSLATOR, ["a"], batch_size=batch_size)
