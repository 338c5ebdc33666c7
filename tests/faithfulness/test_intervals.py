"""Bootstrap intervals: against SciPy, and against what they promise."""

import numpy as np
import pytest
from scipy import stats

from regard.faithfulness import Bootstrap


def test_one_row_an_example_is_scipys_percentile_interval():
    numbers = np.random.default_rng(1).gamma(2.0, size=80)
    found = Bootstrap(np.arange(80), seed=2).estimate(numbers[None])
    theirs = stats.bootstrap(
        (numbers,), np.mean, method="percentile", n_resamples=9999, rng=3
    ).confidence_interval
    assert found.value == pytest.approx(numbers.mean())
    width = theirs.high - theirs.low
    assert found.over_examples.low == pytest.approx(theirs.low, abs=0.06 * width)
    assert found.over_examples.high == pytest.approx(theirs.high, abs=0.06 * width)
    assert found.over_trainings is None
    assert found.interval == found.over_examples
    assert found.num_examples == 80


def test_rows_of_one_example_are_no_independent_evidence():
    per_example = np.random.default_rng(1).normal(size=50)
    alone = Bootstrap(np.arange(50), seed=2).estimate(per_example[None])
    repeated = Bootstrap(np.repeat(np.arange(50), 9), seed=2).estimate(
        np.repeat(per_example, 9)[None]
    )
    assert repeated.over_examples.low == pytest.approx(alone.over_examples.low)
    assert repeated.over_examples.high == pytest.approx(alone.over_examples.high)


def test_the_mean_is_over_rows_and_leaves_out_what_is_not_there():
    numbers = np.array([[1.0, 3.0, np.nan, 8.0], [2.0, 4.0, np.nan, 6.0]])
    found = Bootstrap(np.array([5, 5, 7, 9]), seed=1).estimate(numbers)
    assert found.value == pytest.approx(4.0)
    assert found.num_examples == 2


def test_a_training_without_the_number_is_left_out():
    numbers = np.array([[1.0, 2.0, 3.0], [np.nan] * 3, [3.0, 4.0, 5.0]])
    found = Bootstrap(np.arange(3), seed=1).estimate(numbers)
    assert found.value == pytest.approx(3.0)
    assert found.over_examples.low < 3.0 < found.over_examples.high


def test_what_no_row_has_is_no_number():
    found = Bootstrap(np.arange(3), seed=1).estimate(np.full((1, 3), np.nan))
    assert np.isnan([found.value, found.over_examples.low, found.over_examples.high]).all()


def test_trainings_that_differ_widen_the_interval_and_equal_ones_do_not():
    examples = np.random.default_rng(1).normal(size=300)
    bootstrap = Bootstrap(np.arange(300), seed=2)
    apart = bootstrap.estimate(np.stack([examples - 5.0, examples, examples + 5.0]))
    alike = bootstrap.estimate(np.stack([examples, examples, examples]))
    assert apart.over_trainings.high - apart.over_trainings.low > 5.0
    assert apart.over_examples.high - apart.over_examples.low < 0.3
    assert alike.over_trainings.low == pytest.approx(alike.over_examples.low)
    assert apart.interval == apart.over_trainings


def test_a_difference_is_paired_by_example():
    hard = np.random.default_rng(1).normal(scale=10.0, size=200)
    bootstrap = Bootstrap(np.arange(200), seed=2)
    paired = bootstrap.difference(hard[None] + 1.0, np.stack([hard, hard]))
    assert paired.value == pytest.approx(1.0)
    assert paired.over_examples.low == pytest.approx(1.0)
    assert paired.over_examples.high == pytest.approx(1.0)


@pytest.mark.slow
def test_the_intervals_hold_the_truth_as_often_as_they_say():
    random = np.random.default_rng(4)
    held = 0
    for seed in range(400):
        clusters = random.normal(size=60).repeat(4)
        rows = clusters + random.normal(size=240)
        found = Bootstrap(np.arange(60).repeat(4), seed=seed).estimate(rows[None])
        held += found.over_examples.low <= 0.0 <= found.over_examples.high
    assert 0.91 <= held / 400 <= 0.98
