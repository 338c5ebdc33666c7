"""`plots.accuracy_by_length`: lines, bands and the level of chance."""

import numpy as np
import pytest

from regard import plots

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

TABLE = {
    "with $attention$": [(20, 0.7, 0.6, 0.75), (5, 0.9, 0.85, 0.95), (10, 0.8, 0.7, 0.9)],
    "without": [(5, 0.6, 0.5, 0.7), (20, 0.1, 0.05, 0.2)],
}


def test_each_line_is_in_order_of_length_within_its_band():
    (ax,) = plots.accuracy_by_length(TABLE, title="T").axes
    with_attention, without = ax.lines
    assert with_attention.get_xdata().tolist() == [5, 10, 20]
    assert with_attention.get_ydata().tolist() == [0.9, 0.8, 0.7]
    assert without.get_ydata().tolist() == [0.6, 0.1]
    band = {tuple(point) for point in ax.collections[0].get_paths()[0].vertices}
    assert {(5, 0.85), (5, 0.95), (10, 0.7), (10, 0.9), (20, 0.6), (20, 0.75)} <= band
    for line, area in zip(ax.lines, ax.collections, strict=True):
        assert np.allclose(area.get_facecolor()[0, :3], rgb(line.get_color()))
    legend = ax.get_legend().get_texts()
    assert [text.get_text() for text in legend] == list(TABLE)
    assert not any(text.get_parse_math() for text in legend)  # as it is, "$" and all
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == (
        "length", "accuracy", "T",
    )  # fmt: skip
    assert ax.get_ylim() == (0, 1.02)


def rgb(colour: str) -> np.ndarray:
    return np.array(list(bytes.fromhex(colour[1:]))) / 255


def test_chance_is_a_line_across():
    (ax,) = plots.accuracy_by_length(TABLE, chance=0.25).axes
    assert ax.lines[-1].get_ydata() == [0.25, 0.25]
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "chance"


def test_it_draws_into_axes_that_are_there():
    figure = Figure()
    ax = figure.add_subplot(1, 2, 2)
    assert plots.accuracy_by_length(TABLE, ax=ax) is figure
    assert len(ax.lines) == 2


def test_lines_are_told_apart_by_colour_and_by_marker():
    table = {f"model {i}": [(1, 0.5, 0.4, 0.6)] for i in range(7)}
    (ax,) = plots.accuracy_by_length(table).axes
    assert len({line.get_color() for line in ax.lines}) == 7
    assert len({line.get_marker() for line in ax.lines}) == 7


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "the table is empty"),
        ({"a": []}, "'a' has no points"),
        ({"a": [(5, 0.5, 0.4, 0.6)] * 2}, r"'a' has the lengths \[5.0, 5.0\].*comes once"),
        ({"a": [(5, 0.5, 0.6, 0.7)]}, r"the point \(5.0, 0.5, 0.6, 0.7\).*low <= accuracy"),
        ({"a": [(5, 50, 40, 60)]}, "Pass shares, not %"),
        ({"a": [(5, 0.5, float("nan"), 0.7)]}, "the point"),
        ({"a": [(5, 0.5)]}, r"the point \(5.0, 0.5\)"),
    ],
)
def test_what_is_no_table_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        plots.accuracy_by_length(table)


def test_chance_is_a_share():
    with pytest.raises(ValueError, match=r"chance=25.*not %"):
        plots.accuracy_by_length(TABLE, chance=25)


def test_removed_axes_are_refused():
    ax = Figure().add_subplot()
    ax.remove()
    with pytest.raises(ValueError, match="belongs to no figure"):
        plots.accuracy_by_length(TABLE, ax=ax)
