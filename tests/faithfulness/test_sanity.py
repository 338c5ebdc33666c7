"""Where the right answer is known, every test and the verdict give it."""

from dataclasses import replace

import numpy as np
import pytest

from regard.faithfulness import (
    Bootstrap,
    Claim,
    Effort,
    Estimate,
    Interval,
    Section,
    sections,
    verdict,
)
from regard.faithfulness.leave_one_out import leave_one_out
from regard.faithfulness.measures import Peer, measure
from tests.faithfulness.planted import Planted, generator

EFFORT = Effort(num_permutations=40, restarts=2, steps=20, num_random_orders=2)


def examined(decisions, other):
    """The estimates of every section, and the claims, with another training beside."""
    peer = Peer(other.weights, leave_one_out(other, "deleted"))
    measured = measure(
        decisions,
        peers=[peer],
        bound=0.01,
        effort=EFFORT,
        generator=generator(),
        tell=lambda what: None,
    )
    rows = {key: numbers.double().numpy()[None] for key, numbers in measured.items()}
    bootstrap = Bootstrap(decisions.examples.numpy(), seed=1)
    found = [
        *sections.layer_sections(rows, bootstrap, bound=0.01),
        *sections.input_sections(rows, bootstrap, main="deleted"),
        sections.seeds(rows, bootstrap),
    ]
    claims = {claim.name: claim.grade for claim in verdict.judge(found, bound=0.01)}
    return {section.name: section.estimates for section in found}, claims


@pytest.fixture(scope="module")
def planted():
    return examined(Planted.found(rows=60), Planted.found(rows=60))


@pytest.fixture(scope="module")
def randomised():
    """Attention that is random, and bypassed; another training's is random otherwise."""
    other = Planted.bypassed(rows=60)
    other.weights = Planted.bypassed(rows=60, seed=5).weights
    other.weights = other.weights * other.may_attend
    other.weights = other.weights / other.weights.sum(-1, keepdim=True)
    return examined(Planted.bypassed(rows=60), other)


def test_a_planted_key_is_near_perfect_in_every_test(planted):
    found, _ = planted
    mean_length = 1 / found["erasure"]["weight"].value
    assert found["permutation"]["all decisions"].value > 0.9
    assert found["adversary"]["adversary"].value < 0.1
    assert 4 < mean_length < 7  # one position of each row
    assert found["flips"]["only the largest"].value == 1.0
    assert found["correlation"]["weight − random"].interval.low > 0.2
    assert found["comprehensiveness"]["weight, deleted"].value > 0.9
    assert abs(found["sufficiency"]["weight, deleted"].value) < 0.01
    assert found["seeds"]["share with the same largest weight"].value == 1.0


def test_randomised_weights_are_near_chance_in_every_test(randomised):
    found, _ = randomised
    assert found["permutation"]["all decisions"].value < 1e-6
    assert found["adversary"]["adversary"].value > 0.5
    assert found["erasure"]["random − weight"].value == 0.0
    assert found["flips"]["neither"].value == 1.0
    for section, label in (
        ("correlation", "weight − random"),
        ("comprehensiveness", "weight better than random"),
        ("sufficiency", "weight better than random"),
    ):
        interval = found[section][label].interval
        assert interval.low <= 0.0 <= interval.high, label
    assert abs(found["correlation"]["weight and leave-one-out, deleted"].value) < 0.15


def test_the_verdict_on_a_planted_key_is_evidence(planted):
    """The trainings are equal, so that what the bound allows is more than their difference."""
    _, claims = planted
    assert claims == {
        "what the attention layer drew on": "evidence",
        "being the only weights that would do": "partly",
        "which inputs the output depends on": "evidence",
        "what another training would look at": "evidence",
        "plausibility": "not tested",
    }


def test_the_verdict_on_randomised_weights_is_evidence_of_nothing(randomised):
    _, claims = randomised
    assert claims == {
        "what the attention layer drew on": "not evidence",
        "being the only weights that would do": "not evidence",
        "which inputs the output depends on": "not evidence",
        "what another training would look at": "not evidence",
        "plausibility": "not tested",
    }


def accuracy(**groups):
    return verdict.judge_precondition(
        sections.precondition(
            {name: np.array(rows) for name, rows in groups.items()}, seed=1, margin=0.01
        ),
        margin=0.01,
    )


def test_the_precondition_holds_where_trained_attention_is_more_accurate_than_each_other():
    trained, none = np.ones((1, 400)), np.zeros((1, 400))
    assert accuracy(trained=trained, uniform=none, frozen=none).grade == "evidence"
    found = accuracy(trained=trained, uniform=none, frozen=trained)
    assert found.grade == "cannot decide"
    assert found.sentence.startswith("Cannot decide on this data (frozen attention does as well)")
    worse = accuracy(trained=none, uniform=trained)
    assert worse.sentence.startswith("Cannot decide on this data (uniform attention does better)")


def test_one_lucky_training_does_not_fulfil_the_precondition():
    """Trained is better on average, but by one seed alone."""
    half = np.tile([1.0, 0.0], 50)
    trained = np.stack([np.ones(100), half, half])
    found = accuracy(trained=trained, uniform=np.stack([half] * 3))
    assert found.grade == "cannot decide"
    assert "too few examples or trainings to tell whether uniform attention" in found.sentence


def right(num_right, of):
    """One training that is right in so many examples, the first ones."""
    return (np.arange(of) < num_right)[None].astype(float)


@pytest.mark.parametrize(
    ("trained", "uniform", "verdict_words"),
    [
        # 4 words, one of them lost: the interval goes from 0 to .75
        (right(4, of=4), right(3, of=4), "too few examples"),
        # nothing differs, but 3/n says that 290 examples without one allow .0103, 310 only .0097
        (right(290, of=290), right(290, of=290), "too few examples"),
        (right(310, of=310), right(310, of=310), "uniform attention does as well"),
        # fewer than six show nothing, whatever they are
        (right(1, of=1), right(0, of=1), "too few examples"),
        (right(0, of=5), right(5, of=5), "too few examples"),
        (right(0, of=6), right(6, of=6), "uniform attention does better"),
        # 12 of 12,000 lost, .001: significant, and below the margin
        (right(12_000, of=12_000), right(11_988, of=12_000), "uniform attention does as well"),
    ],
)
def test_no_significant_difference_is_not_called_equal(trained, uniform, verdict_words):
    found = accuracy(trained=trained, uniform=uniform)
    assert found.grade == "cannot decide"
    assert found.sentence.startswith(f"Cannot decide on this data ({verdict_words}")


@pytest.mark.parametrize(
    ("low", "high", "num_examples", "verdict_words"),
    [
        (-0.005, 0.007, 11_994, "uniform attention does as well"),
        (-0.005, 0.012, 11_994, "too few examples or trainings to tell"),
        (0.001, 0.007, 11_994, "uniform attention does as well"),
        (-0.007, -0.001, 11_994, "uniform attention does better"),
    ],
)
def test_the_interval_decides_between_as_well_and_too_few(low, high, num_examples, verdict_words):
    value = (low + high) / 2
    found = Estimate(value, Interval(low, high), Interval(low, high), num_examples)
    estimates = {"trained": found, "uniform": found, "trained − uniform": found}
    claim = verdict.judge_precondition(Section("", "", "", "", estimates), margin=0.01)
    assert claim.sentence.startswith(f"Cannot decide on this data ({verdict_words}")
    wider = verdict.judge_precondition(Section("", "", "", "", estimates), margin=0.02)
    assert "too few" not in wider.sentence


def test_what_is_told_apart_comes_before_what_is_not():
    found = accuracy(trained=right(6, of=6), uniform=right(5, of=6), frozen=right(5, of=6))
    assert "uniform" in found.sentence
    found = accuracy(trained=right(0, of=20), uniform=right(1, of=20), frozen=right(20, of=20))
    assert found.sentence.startswith("Cannot decide on this data (frozen attention does better)")


def test_it_says_about_how_many_examples_it_takes():
    difference = Estimate(0.25, Interval(0.0, 0.5), None, 100)  # half of it .25: 100 · 25² = 62,500
    section = sections.precondition({"trained": right(1, of=2)}, seed=1, margin=0.01)
    section = replace(
        section,
        estimates={"trained": difference, "uniform": difference}
        | {"trained − uniform": difference},
    )
    sentence = verdict.judge_precondition(section, margin=0.01).sentence
    assert "0.250 (0.000 to 0.500), of 100 examples." in sentence
    assert "as small as 0.01 takes about 63,000 examples." in sentence
    assert (
        "as small as 0.1 takes about 630 ex"
        in verdict.judge_precondition(section, margin=0.1).sentence
    )


def test_an_adversary_of_unknown_reach_is_no_evidence(planted):
    """Its divergence beyond another training's: told apart, below the margin, or neither."""
    grades = {}
    for low, high in ((0.1, 0.2), (-0.1, 0.009), (-0.1, 0.2)):
        found = {name: dict(estimates) for name, estimates in planted[0].items()}
        found["adversary"]["adversary − between trainings"] = Estimate(
            (low + high) / 2, Interval(low, high), None, 60
        )
        told = [Section(name, "", "", "", estimates) for name, estimates in found.items()]
        claims = verdict.judge(told, bound=0.01)
        grades[low, high] = claims[1].grade
    assert grades == {
        (0.1, 0.2): "partly",
        (-0.1, 0.009): "evidence",
        (-0.1, 0.2): "cannot decide",
    }


def test_below_six_examples_nothing_is_claimed(planted):
    few = {
        name: {label: replace(found, num_examples=5) for label, found in estimates.items()}
        for name, estimates in planted[0].items()
    }
    told = [Section(name, "", "", "", estimates) for name, estimates in few.items()]
    claims = verdict.judge(told, bound=0.01)
    assert {claim.grade for claim in claims} == {"cannot decide", "not tested"}
    assert claims[0].sentence == (
        "Cannot decide from 5 examples: below 6 no interval means anything. Give more."
    )


@pytest.mark.parametrize(
    ("grades", "said"),
    [
        (("not evidence",), "Weights are not evidence for a."),
        (
            ("partly", "not evidence"),
            "Weights are partly evidence for a; they are not evidence for b.",
        ),
        (("evidence", "partly"), "Weights are evidence for a; partly for b."),
        (("cannot decide",), "Nothing could be decided."),
    ],
)
def test_the_headline_says_of_what_it_speaks(grades, said):
    claims = [Claim(name, grade, "") for name, grade in zip("ab", grades, strict=False)]
    assert verdict.headline(Claim("precondition", "evidence", ""), claims) == said
