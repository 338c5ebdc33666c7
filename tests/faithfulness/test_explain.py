"""The whole examination, on models too small to have learned anything."""

import json
import math
from itertools import product

import numpy as np
import pytest
import torch

from regard.faithfulness import Effort, explain
from regard.faithfulness.models import check_models, choose_examples
from regard.faithfulness.precondition import right_answers
from regard.models import Side, Translator
from regard.search import predict
from regard.text import Pair
from tests.faithfulness.translators import PAIRS, SIDES, fresh

FEW = [PAIRS[1], PAIRS[3]]
MANY = [Pair("".join(letters), "u") for letters in product("abcdef", repeat=4)][:400]
LITTLE = Effort(num_permutations=4, restarts=1, steps=3, num_random_orders=1)


@pytest.fixture(scope="module")
def translator():
    return fresh()


@pytest.fixture(scope="module")
def report(translator):
    told = []
    report = explain(
        translator,
        FEW,
        seeds=[fresh(seed=1)],
        effort=LITTLE,
        tell=lambda fraction, what: told.append((fraction, what)),
    )
    assert [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)
    assert told[-1][1].startswith("model 2 of 2: ")
    return report


@pytest.mark.slow
def test_every_test_is_in_it_and_every_number_has_both_intervals(report):
    assert [section.name for section in report.sections] == [
        "permutation",
        "adversary",
        "erasure",
        "flips",
        "correlation",
        "comprehensiveness",
        "sufficiency",
        "seeds",
    ]
    for section in report.sections:
        assert section.estimates
        for label, found in section.estimates.items():
            low, high = found.over_examples.low, found.over_examples.high
            assert low - 1e-9 <= found.value <= high + 1e-9, label
            assert found.over_trainings is not None or "trainings" in label or "share" in label
            assert found.num_examples <= len(FEW)


@pytest.mark.slow
def test_it_says_what_was_done(report):
    settings = dict(report.settings)
    assert settings["examples"] == 2
    assert settings["trainings"] == "2 (few: intervals over them are too narrow)"
    assert settings["bound"] == 0.01
    assert "predicted" in settings["decisions"]


@pytest.mark.slow
def test_its_json_is_plain_data(report):
    told = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert told["headline"] == report.headline
    first = told["sections"][0]["estimates"]["all decisions"]
    assert set(first) == {"value", "over_examples", "over_trainings", "num_examples"}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_report(translator):
    both = [explain(translator, FEW[:1], effort=LITTLE, seed=7).to_json() for _ in range(2)]
    assert both[0] == both[1]


def test_a_model_without_baselines_is_judged_with_the_precondition_open(translator):
    report = explain(translator, FEW[:1], effort=LITTLE)
    assert report.claims[0].grade == "not tested"
    assert "--attention uniform" in report.claims[0].sentence
    assert "provisional" in report.headline
    assert all(
        found.over_trainings is None
        for section in report.sections
        for found in section.estimates.values()
    )


def test_it_stops_where_uniform_attention_does_as_well(translator):
    report = explain(translator, MANY, uniform=[blind()], frozen=[frozen()], effort=LITTLE)
    assert [section.name for section in report.sections] == ["precondition"]
    assert [claim.grade for claim in report.claims] == ["cannot decide"]
    assert report.headline == "Cannot decide on this data (uniform attention does as well)."
    assert "below a margin of 0.01" in report.claims[0].sentence
    assert "below a margin of 0.01" in report.sections[0].method
    assert report.settings["margin of accuracy within which a baseline does as well"] == 0.01


def test_few_examples_do_not_show_that_it_does_as_well(translator):
    report = explain(translator, PAIRS, uniform=[blind()], effort=LITTLE)
    assert report.headline == (
        "Cannot decide on this data (too few examples or trainings to tell whether uniform "
        "attention does as well)."
    )
    assert "of 5 examples. To tell a difference as small as 0.01 takes about 300 examples." in (
        report.claims[0].sentence
    )


@pytest.mark.slow
def test_it_goes_on_if_told_to_and_the_verdict_remains(translator):
    report = explain(
        translator, FEW[:1], uniform=[blind()], effort=LITTLE, despite_precondition=True
    )
    assert len(report.sections) == 8
    assert report.headline.startswith("Cannot decide on this data (too few examples")


@pytest.mark.slow
def test_uniform_weights_make_permutation_a_no_op():
    report = explain(blind(), [*PAIRS, Pair("bad", "w")], effort=LITTLE)
    assert report.section("permutation").estimates["all decisions"].value < 1e-6
    layer = report.claims[1]
    assert (layer.name, layer.grade) == ("what the attention layer drew on", "not evidence")


def blind():
    return fresh(seed=4, attention="uniform")


def frozen(seed=3):
    translator = fresh(seed=seed)
    translator.frozen_scores = True
    return translator


def test_an_answer_is_right_if_it_is_one_of_the_targets(translator):
    fade, ab = (prediction.target for prediction in predict(translator, ["fade", "ab"]))
    pairs = [Pair("fade", "uv"), Pair("fade", fade), Pair("ab", ab + "z")]
    np.testing.assert_array_equal(right_answers(translator, pairs), [1.0, 0.0])


def test_the_examples_are_distinct_sources_of_two_tokens_or_more_by_length(translator):
    pairs = [*PAIRS, Pair("fade", "zzz"), Pair("a", "u"), Pair("f", "z")]
    asked = choose_examples(translator, pairs, targets="reference", most=100, seed=1)
    assert asked.num_left_out == 2
    assert [len(source) for source, _ in asked.examples] == [2, 4, 4, 4, 7]
    assert asked.examples[0] == (translator.source.encode("ab"), translator.target.encode("z"))
    few = choose_examples(translator, pairs, targets="reference", most=3, seed=1)
    assert len(few.examples) == 3


def test_predicted_targets_are_the_models_own(translator):
    asked = choose_examples(translator, PAIRS, targets="predicted", most=1, seed=1)
    (source, target), *_ = asked.examples
    text = translator.source.decode(source)
    assert translator.target.decode(target) == predict(translator, [text])[0].target


def refused(error, **changed):
    arguments = {"translator": fresh(), "pairs": PAIRS, "effort": LITTLE} | changed
    with pytest.raises(error) as caught:
        explain(arguments.pop("translator"), arguments.pop("pairs"), **arguments)
    return str(caught.value)


@pytest.mark.usefixtures("as_a_user")
def test_what_cannot_be_tested_is_refused_in_words():
    assert refused(ValueError, translator=fresh(attention="none")) == (
        "explain: translator was trained with attention 'none', so it has no weights to test. "
        "Give a model with attention."
    )
    assert refused(TypeError, translator="g2p") == (
        "explain: translator is a str. It must be a Translator. "
        "Give Translator.from_pretrained(folder)."
    )
    assert refused(TypeError, seeds=fresh()) == (
        "explain: seeds is a Translator. It is a list of translators, one for each training. "
        "Give seeds=[translator]."
    )
    assert refused(ValueError, uniform=[fresh(seed=3)]) == (
        "explain: uniform[0] has weights that differ from each other. Its attention must be "
        "uniform. Train it with 'regard train ... --attention uniform'."
    )
    other = Translator.fresh(Side.build("characters", ["abcdefg"]), SIDES[1], hidden_dim=8)
    assert refused(ValueError, seeds=[other]).startswith(
        "explain: seeds[0] cuts strings into other tokens than translator, or numbers them "
    )
    assert refused(ValueError, pairs=[Pair("a", "u")]) == (
        "explain: none of the 1 sources has two tokens. With one, its weight is 1 whatever the "
        "model learned. Give pairs with longer sources."
    )
    assert refused(ValueError, targets="gold") == (
        "explain: targets='gold' is unknown. Choose one of: predicted, reference."
    )
    assert "max_examples=0" in refused(ValueError, max_examples=0)
    assert refused(ValueError, seed=-1) == (
        "explain: seed=-1. A seed is a whole number that is not negative. Give one from 0 to "
        "4,294,967,295."
    )
    assert refused(TypeError, seed=1.5).startswith("explain: seed=1.5, float.")
    assert refused(ValueError, margin=0.0) == (
        "explain: margin=0.0. It is a share. Give a number above 0 and below 1."
    )
    assert "bound=nan" in refused(ValueError, bound=math.nan)


@pytest.mark.usefixtures("as_a_user")
def test_the_same_parameters_are_no_other_training(translator):
    same = "A model compared with itself tells nothing. Give one trained with "
    for group, how in (
        ("seeds", "another --seed"),
        ("uniform", "--attention uniform"),
        ("frozen", "--frozen-scores"),
    ):
        assert refused(ValueError, **{group: [fresh(seed=0)]}) == (
            f"explain: {group}[0] has the very parameters of translator. {same}{how}."
        )
    assert refused(ValueError, seeds=[fresh(seed=1), fresh(seed=1)]).startswith(
        "explain: seeds[1] has the very parameters of seeds[0]. "
    )


@pytest.mark.usefixtures("as_a_user")
def test_other_trainings_differ_in_nothing_else():
    assert refused(ValueError, frozen=[fresh(seed=3)]).startswith(
        "explain: frozen[0] was not trained with its scores frozen; at least, its config.json does "
    )
    assert refused(ValueError, seeds=[frozen()]).startswith(
        "explain: seeds[0] was trained with its scores frozen, translator was not."
    )
    assert refused(ValueError, seeds=[blind()]) == (
        "explain: seeds[0] is another model: attention='uniform' where translator has 'additive', "
        "attn_dim=None where translator has 6. It must be the same model, trained anew. Train one "
        "like translator, but with another --seed."
    )
    assert "cell='lstm' where translator has 'gru'" in refused(
        ValueError, seeds=[fresh(seed=1, cell="lstm")]
    )
    assert "hidden_dim=10 where translator has 12" in refused(
        ValueError, uniform=[fresh(seed=1, attention="uniform", hidden_dim=10)]
    )
    other = fresh(seed=1, window=1)
    other.frozen_scores = True
    assert "window=1 where translator has 3" in refused(ValueError, frozen=[other])


def test_what_makes_no_difference_in_one_layer_is_none(translator):
    check_models(translator, seeds=[fresh(seed=1, residual=False)], uniform=[blind()])


@pytest.mark.parametrize("targets", ["predicted", "reference"])
def test_a_model_that_gives_nan_gets_no_verdict(targets):
    broken = fresh()
    with torch.no_grad():
        broken.network.decoder.readout.to_logits.weight.fill_(math.nan)
    with pytest.raises(ValueError, match="the decoder's log-probabilities are NaN"):
        explain(broken, FEW[:1], targets=targets, effort=LITTLE)
