"""Panels of measures: each line in its panel, with one colour in all of them."""

from regard.plots.measures import measures_by_size

DOT = [(8, 200, 180, 220), (64, 140, 140, 140)]
ADDITIVE = [(8, 0.5, 0.25, 1.0)]


def test_each_measure_has_a_panel_and_each_model_one_colour():
    figure = measures_by_size(
        {
            "updates": {"dot": [], "additive": ADDITIVE},
            "entropy": {"dot": DOT, "additive": ADDITIVE},
        },
        size="key_dim",
        title="$T$",
    )
    updates, entropy = figure.axes
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["updates", "entropy"]
    missing, alone = updates.lines
    assert len(missing.get_xdata()) == 0
    first, second = entropy.lines
    assert first.get_xydata().tolist() == [[8, 200], [64, 140]]
    assert second.get_xydata().tolist() == [[8, 0.5]]
    assert alone.get_color() == second.get_color() != first.get_color()
    band = {tuple(point) for point in entropy.collections[0].get_paths()[0].vertices}
    assert {(8, 180), (8, 220), (64, 140)} <= band
    assert [text.get_text() for text in entropy.get_xticklabels()] == ["8", "64"]
    assert [text.get_text() for text in entropy.get_legend().get_texts()] == ["dot", "additive"]
    assert updates.get_legend() is None
    assert figure.get_suptitle() == "$T$"


def test_a_panel_may_be_empty():
    figure = measures_by_size({"updates": {"dot": []}, "entropy": {"dot": DOT}}, size="key_dim")
    figure.canvas.draw()
    empty, _ = figure.axes
    assert [len(line.get_xdata()) for line in empty.lines] == [0]
