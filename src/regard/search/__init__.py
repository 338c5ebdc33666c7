"""Finding the target: search over a step function, and predictions of strings."""

from regard.search.greedy import Found, greedy
from regard.search.predict import Prediction, predict

__all__ = ["Found", "Prediction", "greedy", "predict"]
