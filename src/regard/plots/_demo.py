"""`python -m regard.plots.alignment`: two alignments in the terminal; nothing is written."""

import numpy as np
from rich.console import Console

from regard.plots.terminal import terminal_alignment

KEYS = np.array([[1, 0, 0.2], [0.5, 0.5, 0.1], [0.1, 0.9, 0.3]])
QUERIES = np.array([[0.9, 0.1, 0.2], [0.5, 0.5, 0.2], [0.1, 0.9, 0.3]])


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights: np.ndarray = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return weights


def worked_weights() -> np.ndarray:
    """The weights of three queries over three keys: softmax of their dot products."""
    return _softmax(QUERIES @ KEYS.T)


def crossing_weights() -> np.ndarray:
    """A made-up alignment whose order crosses: French puts its adjectives last."""
    centres = np.array([0, 1, 4, 3, 2, 5])
    distance = np.abs(centres[:, None] - np.arange(6))
    return _softmax(-2.2 * distance)


def show(console: Console | None = None) -> None:
    """Print both."""
    console = console or Console()
    console.print("Dot-product attention worked by hand: the first query weighs .464 .305 .231\n")
    console.print(terminal_alignment(worked_weights(), ["k1", "k2", "k3"], ["q1", "q2", "q3"]))
    console.print("\nA made-up alignment: target words down, source words across\n")
    source = ["the", "agreement", "European", "Economic", "Area", "."]
    target = ["l'", "accord", "zone", "économique", "européenne", "."]
    console.print(terminal_alignment(crossing_weights(), source, target))
