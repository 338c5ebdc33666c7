"""Predictions of strings: order kept, and no result depends on its neighbours."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.kernels import Workers
from regard.models import Side, Translator
from regard.recording import record
from regard.search import predict


def make_translator(attention="additive", **choices):
    torch.manual_seed(3)
    source = Side.build("characters", ["abcdefg"])
    target = Side.build("whitespace", ["A B C D E F"])
    translator = Translator.fresh(
        source, target, hidden_dim=12, embed_dim=6, attention=attention, **choices
    )
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


# ---- beam search --------------------------------------------------------------------------------

LUONG = {"decoder": "luong", "cell": "lstm", "input_feeding": True, "decoder_layers": 2}


def teacher_forced(translator, prediction, hypothesis, source_len):
    """The log-probability and the weights of a hypothesis by reading it whole, end included."""
    source, target = translator.source, translator.target
    ids = target.vocabulary.encode(hypothesis.target_tokens)
    with torch.inference_mode():
        decoded = translator.network(
            torch.tensor([source.vocabulary.encode(prediction.source_tokens)]),
            torch.tensor([len(prediction.source_tokens)]),
            torch.tensor([[target.vocabulary.BEGIN, *ids]]),
            need_weights=True,
        )
    log_probs = decoded.logits[0].log_softmax(-1)
    emitted = [*ids, target.vocabulary.END][: 2 * source_len + 10]
    log_prob = sum(float(log_probs[place, id]) for place, id in enumerate(emitted))
    return log_prob, None if decoded.weights is None else decoded.weights[0, : len(ids)]


@pytest.mark.parametrize(
    "choices", [{}, LUONG, {"attention": "none"}, {"attention": "general"}], ids=str
)
def test_states_and_alignments_follow_their_hypotheses(choices):
    """Each hypothesis has the probability and the alignment that reading it whole gives."""
    translator = make_translator(**choices)
    predictions = predict(
        translator, ["abc", "gfedcb", "", "aaa", "bag"], beam=4, n_best=4, need_weights=True
    )
    for prediction in predictions:
        for hypothesis in prediction.hypotheses if prediction.source else ():
            log_prob, weights = teacher_forced(
                translator, prediction, hypothesis, len(prediction.source)
            )
            assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-4)
            if weights is not None:
                torch.testing.assert_close(hypothesis.weights, weights, atol=1e-5, rtol=0)
    assert sum(len(prediction.hypotheses) for prediction in predictions) == 4 * 4 + 1


@settings(max_examples=6)
@given(
    st.lists(st.text("abcdefgxyz", max_size=5), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.8]),
)
def test_hypotheses_do_not_depend_on_the_batch(sources, batch_size, length_penalty):
    options = {"beam": 3, "n_best": 3, "length_penalty": length_penalty, "need_weights": True}
    together = predict(TRANSLATOR, sources, batch_size=batch_size, **options)
    assert [prediction.source for prediction in together] == sources
    for prediction in together:
        (alone,) = predict(TRANSLATOR, [prediction.source], **options)
        assert [h.target for h in prediction.hypotheses] == [h.target for h in alone.hypotheses]
        for one, other in zip(prediction.hypotheses, alone.hypotheses, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
            if one.weights is not None:
                torch.testing.assert_close(one.weights, other.weights, atol=1e-5, rtol=0)


def test_more_beams_find_no_less_probable_targets():
    sources = ["abc", "de", "fgabcd", "a", "bbb", "cafe", "bead"]
    greedily, with_beams = predict(TRANSLATOR, sources), predict(TRANSLATOR, sources, beam=20)
    gains = [most.log_prob - one.log_prob for one, most in zip(greedily, with_beams, strict=True)]
    assert min(gains) >= -1e-4
    assert max(gains) > 0.1  # and somewhere a better one


@pytest.mark.parametrize("beam", [1, 3])
def test_lengths_are_kept_to(beam):
    for prediction in predict(TRANSLATOR, ["abc", "gf"], beam=beam, min_length=17):
        assert len(prediction.target_tokens) >= 17
    for prediction in predict(TRANSLATOR, ["abcdefg"], beam=beam, max_length=2):
        assert len(prediction.target_tokens) <= 2


@pytest.mark.parametrize("beam", [1, 3])
def test_every_target_begins_with_its_prefix(beam):
    sources, prefixes = ["abc", "gf", "abc", ""], ["A B", "", "F", "C"]
    begun = predict(TRANSLATOR, sources, beam=beam, prefix=prefixes)
    for prediction, prefix in zip(begun[:3], prefixes, strict=False):
        tokens = prefix.split()
        assert prediction.target_tokens[: len(tokens)] == tokens
    assert begun[1].target == predict(TRANSLATOR, ["gf"], beam=beam)[0].target
    assert begun[3].target == ""
    (same,) = predict(TRANSLATOR, ["abc"], beam=beam, prefix="A B")
    assert same.target == begun[0].target


def test_a_recording_changes_nothing():
    options = {"beam": 3, "n_best": 2}
    plain = predict(TRANSLATOR, ["abc", "de"], **options)
    with record(TRANSLATOR.network) as trace:
        recorded = predict(TRANSLATOR, ["abc", "de"], **options)
    assert len(trace) > 0
    for one, other in zip(plain, recorded, strict=True):
        for found, again in zip(one.hypotheses, other.hypotheses, strict=True):
            assert found.target == again.target
            assert found.log_prob == pytest.approx(again.log_prob, abs=1e-5)


@pytest.mark.usefixtures("as_a_user")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"beam": 0}, ValueError, r"beam=0\. Give a whole number from 1"),
        ({"beam": 2.5}, TypeError, r"beam=2\.5\. Give a whole number"),
        ({"n_best": 3, "beam": 2}, ValueError, r"n_best=3 with beam=2\..*Give beam=3 or more"),
        ({"length_penalty": 1.0}, ValueError, r"length_penalty=1\.0 with beam=1.*Give beam=2"),
        ({"length_penalty": float("nan"), "beam": 2}, ValueError, "length_penalty=nan"),
        ({"min_length": 9, "max_length": 5}, ValueError, "min_length=9 with max_length=5"),
        ({"max_length": 0}, ValueError, "max_length=0"),
        ({"prefix": "A Q"}, ValueError, r"predict: prefix='A Q' has the token 'Q'"),
        ({"prefix": "A B", "max_length": 1}, ValueError, "predict: prefix='A B' has 2 tokens"),
        ({"prefix": ["A", "B"]}, ValueError, "predict: 2 prefixes for 1 sources"),
        ({"prefix": 3}, TypeError, r"predict: prefix=3\. It is a string"),
        ({"prefix": [3]}, TypeError, r"predict: prefix=\[3\]\. It is a string"),
    ],
)
def test_what_cannot_be_searched_for_is_refused_in_words(options, error, message):
    with pytest.raises(error, match=f"^{message}"):
        predict(TRANSLATOR, ["abc"], **options)
