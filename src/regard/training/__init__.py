"""Training: the loop, its options, checkpoints and metrics."""

from regard.training.evaluate import evaluate
from regard.training.loop import Outcome, Progress, train
from regard.training.metrics import ErrorRates, error_rates, exact_match
from regard.training.options import TrainingOptions

__all__ = [
    "ErrorRates",
    "Outcome",
    "Progress",
    "TrainingOptions",
    "error_rates",
    "evaluate",
    "exact_match",
    "train",
]
