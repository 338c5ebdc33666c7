"""Finding the target: search over a step function, and predictions of strings."""

from regard.search.beam import beam
from regard.search.decode import Hypothesis
from regard.search.greedy import Found, greedy
from regard.search.hypotheses import Hypotheses
from regard.search.predict import Prediction, predict

__all__ = ["Found", "Hypotheses", "Hypothesis", "Prediction", "beam", "greedy", "predict"]
