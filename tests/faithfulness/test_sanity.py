"""Where the right answer is known, every test and the verdict give it."""

import numpy as np
import pytest

from regard.faithfulness import Bootstrap, Effort, sections, verdict
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
        sections.precondition({name: np.array(rows) for name, rows in groups.items()}, seed=1)
    )


def test_the_precondition_holds_where_trained_attention_is_more_accurate_than_each_other():
    trained, none = np.ones((1, 50)), np.zeros((1, 50))
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
    assert accuracy(trained=trained, uniform=np.stack([half] * 3)).grade == "cannot decide"
