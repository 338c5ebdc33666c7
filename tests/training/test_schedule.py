"""The learning rate over a run, by hand."""

import pytest

from regard.training import TrainingOptions
from regard.training.schedule import learning_rate


@pytest.mark.parametrize(
    ("progress", "rate"),
    [
        (-1.0, 0.0),
        (0.0, 0.0),
        (0.1, 1.0),
        (0.2, 2.0),
        (0.6, 1.0),
        (0.4, 1.7071068),
        (1.0, 0.0),
        (1.5, 0.0),
    ],
)
def test_it_rises_in_a_line_and_falls_as_half_a_cosine(progress, rate):
    assert learning_rate(progress, peak=2.0, warmup=0.2) == pytest.approx(rate, abs=1e-7)


def test_without_warmup_it_starts_at_its_peak():
    assert learning_rate(0.0, peak=3.0, warmup=0.0) == 3.0


@pytest.mark.parametrize(
    ("field", "number"),
    [
        ("epochs", 0),
        ("minutes", 0.0),
        ("minutes", float("inf")),
        ("batch_size", 0),
        ("learning_rate", -1.0),
        ("label_smoothing", 1.0),
        ("warmup", -0.1),
        ("average", 1.0),
        ("patience", 0),
        ("seed", -1),
        ("num_workers", 0),
        ("mixed_precision", "fp8"),
    ],
)
def test_an_option_out_of_its_range_is_named(field, number):
    with pytest.raises(ValueError, match=field):
        TrainingOptions(**{field: number})


def test_small_data_gets_more_epochs_and_smaller_batches():
    small, large = TrainingOptions(), TrainingOptions()
    assert small.planned_epochs(800) > large.planned_epochs(100_000)
    assert small.planned_batch_size(800) < large.planned_batch_size(100_000)
    assert TrainingOptions(minutes=1.0).planned_epochs(800) is None
    assert TrainingOptions(epochs=3).planned_epochs(800) == 3
