"""Training: the loop, its options, checkpoints and metrics."""

from regard.training.evaluate import evaluate, evaluate_by_length
from regard.training.loop import Outcome, Progress, train
from regard.training.metrics import ErrorRates, error_rates, exact_match
from regard.training.options import TrainingOptions
from regard.training.report import Report

__all__ = [
    "ErrorRates",
    "Outcome",
    "Progress",
    "Report",
    "TrainingOptions",
    "error_rates",
    "evaluate",
    "evaluate_by_length",
    "exact_match",
    "train",
]
