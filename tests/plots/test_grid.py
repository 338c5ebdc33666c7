"""What is refused, and with which words, by figures and terminal alike."""

import numpy as np
import pytest
import torch

from regard import plots
from regard.plots._grid import digits, visible

GOOD = np.full((2, 3), 1 / 3)

CASES = {
    "one example and one head": (
        np.zeros((1, 4, 2, 3)), "abc", "xy", ValueError,
        r"weights has 4 axes, shape \(1, 4, 2, 3\)\. One alignment .* as in weights\[0, 0\]",
    ),
    "a vector": (np.zeros(3), "abc", "x", ValueError, r"weights has 1 axes, shape \(3,\)"),
    "too few sources": (
        GOOD, "ab", "xy", ValueError,
        r"source has 2 labels but weights has 3 columns \(beside 2 rows\)\. weights is "
        r"\(target_len, source_len\) = \(2, 3\)\. Pass one label for every position",
    ),
    "too many targets": (
        GOOD, "abc", "xyz", ValueError, r"target has 3 labels but weights has 2 rows",
    ),
    "turned": (
        GOOD, "ab", "xyz", ValueError, r"target has 3 labels but .* Pass weights\.T: queries go",
    ),
    "nan": (
        [[0.5, np.nan, np.nan], [0, 0, 1]], "abc", "xy", ValueError,
        r"weights\[0, 1\] = nan is not a finite number \(as are 2 of 6 cells\)",
    ),
    "infinite": ([[np.inf]], "a", "x", ValueError, r"weights\[0, 0\] = inf is not a finite"),
    "negative": (
        [[0.5, 0.5], [-0.25, 1]], "ab", "xy", ValueError,
        r"weights\[1, 0\] = -0.25 is negative .* after normalising, and not scores",
    ),
    "scores": ([[3.0, 0.5]], "ab", "x", ValueError, r"weights\[0, 0\] = 3 is above 1"),
    "empty": (np.zeros((0, 2)), "ab", "", ValueError, r"shape \(0, 2\) has no cell"),
    "ragged": ([[0.5], [0.5, 0.5]], "ab", "xy", TypeError, r"weights is list, which makes no"),
    "text": ([["a"]], "a", "x", TypeError, r"makes no array of real numbers"),
    "complex": (np.ones((1, 1), dtype=complex), "a", "x", TypeError, r"no array of real numbers"),
}  # fmt: skip


@pytest.mark.parametrize("draw", [plots.alignment, plots.terminal_alignment])
@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_drawn_is_refused(draw, case):
    weights, source, target, kind, message = CASES[case]
    name = "alignment" if draw is plots.alignment else "terminal_alignment"
    with pytest.raises(kind, match=rf"^plots\.{name}: .*{message}"):
        draw(weights, list(source), list(target))


def test_labels_that_are_not_text_are_refused():
    from regard.plots._grid import checked_grid

    # Not through beartype, which would refuse before us while testing.
    plain = getattr(checked_grid, "__wrapped__", checked_grid)
    with pytest.raises(TypeError, match=r"source has the label 7 of type int\. Labels are strings"):
        plain([[1.0]], [7], ["x"], "plots")


def test_half_precision_may_round_past_one():
    weights = torch.tensor([[1.0, 0.0]], dtype=torch.bfloat16) * 1.004
    plots.terminal_alignment(weights, ["a", "b"], ["x"])
    plots.terminal_alignment([[1.004]], ["a"], ["x"])


def test_the_given_weights_are_left_as_they_were():
    weights = np.array([[1.004, 0.0]])
    plots.terminal_alignment(weights, ["a", "b"], ["x"])
    assert weights[0, 0] == 1.004


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("", "∅"), (" ", "␣"), ("\u3000", "␣"), ("a b", "a b"), ("\t", "␣"), ("a\tb", r"a\tb"),
        ("\x1b[31m", r"\x1b[31m"), ("\u202eab", r"\u202eab"), ("\ud800", r"\ud800"),
        ("e\u0301", "e\u0301"), ("می\u200cروم", "می\u200cروم"),
    ],
)  # fmt: skip
def test_every_label_can_be_seen(label, shown):
    assert visible(label) == shown


@pytest.mark.parametrize(
    ("weight", "said"),
    [(0.0, "·"), (0.0049, "·"), (0.006, "1"), (0.464, "46"), (0.996, "100"), (1.0, "100")],
)
def test_digits_are_hundredths(weight, said):
    assert digits(weight) == said
