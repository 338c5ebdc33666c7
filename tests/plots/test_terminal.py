"""The terminal grid says its weights in the right cells, with and without colour."""

import io
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement

from regard import plots
from regard.plots._colour import paper_and_ink
from regard.plots._grid import digits

WEIGHTS = np.array(
    [[0.70, 0.20, 0.06, 0.04], [0.10, 0.55, 0.30, 0.05], [0.01, 0.02, 0.12, 0.85]],
)
SOURCE = ["c", "a", "k", "e"]
TARGET = ["K", "EY", "K"]


def console(width: int, **options: object) -> Console:
    settings = {"file": io.StringIO(), "color_system": "truecolor", "force_terminal": True}
    return Console(width=width, record=True, legacy_windows=False, **{**settings, **options})


def lines(weights, source, target, width: int = 80) -> list[str]:
    screen = console(width)
    screen.print(plots.terminal_alignment(weights, source, target))
    return screen.export_text().splitlines()


def test_the_grid_written_out():
    assert lines(WEIGHTS, SOURCE, TARGET) == [
        "    c  a  k  e",
        " K 70 20  6  4",
        "EY 10 55 30  5",
        " K  1  2 12 85",
    ]


def test_a_whole_weight_and_a_long_label_widen_their_columns_only():
    assert lines([[1.0, 0.0, 0.0], [0.001, 0.5, 0.499]], ["a", "b", "long"], ["x", "y"]) == [
        "    a  b long",
        "x 100  ·    ·",
        "y   · 50   50",
    ]


def test_wide_characters_keep_the_columns_aligned():
    assert lines([[0.46, 0.54], [0.2, 0.8]], ["한국", "の"], ["私", "b"]) == [
        "   한국 の",
        "私   46 54",
        " b   20 80",
    ]


def test_cells_have_the_colours_of_the_figure():
    screen = console(80)
    grid = plots.terminal_alignment(WEIGHTS, SOURCE, TARGET)
    segments = [s for s in screen.render(grid) if s.style and s.style.bgcolor]
    drawn = [
        (s.text.strip(), s.style.bgcolor.triplet.hex, s.style.color.triplet.hex) for s in segments
    ]
    assert drawn == [(digits(w), *paper_and_ink(w)) for w in WEIGHTS.ravel()]


def test_without_colour_only_text_is_left():
    out = io.StringIO()
    Console(file=out, width=80, no_color=True).print(
        plots.terminal_alignment(WEIGHTS, SOURCE, TARGET)
    )
    assert out.getvalue().splitlines()[2] == "EY 10 55 30  5"
    assert "\x1b" not in out.getvalue()


def test_a_long_source_continues_in_blocks_with_the_targets_repeated():
    weights = np.arange(1, 17).reshape(2, 8) / 100
    assert lines(weights, list("abcdefgh"), ["x", "y"], width=12) == [
        "   a  b  c",
        "x  1  2  3",
        "y  9 10 11",
        "",
        "   d  e  f",
        "x  4  5  6",
        "y 12 13 14",
        "",
        "   g  h",
        "x  7  8",
        "y 15 16",
    ]


def test_tokens_are_never_read_as_markup():
    assert lines([[0.3, 0.7]], ["[red]", ":smile:"], ["[/]"]) == [
        "    [red] :smile:",
        "[/]    30      70",
    ]


def test_right_to_left_letters_do_not_turn_the_columns():
    header, row = lines([[0.3, 0.7]], ["س", "ل"], ["s"])
    assert header == "   \u200eس\u200e  \u200eل\u200e"
    assert row == "s 30 70"


def test_it_measures_itself_for_tables_and_columns():
    screen = console(80)
    measured = Measurement.get(
        screen, screen.options, plots.terminal_alignment(WEIGHTS, SOURCE, TARGET)
    )
    assert measured == Measurement(5, 14)


LABELS = st.text(
    st.sampled_from("ab한국語のカمس́é👍") | st.characters(exclude_categories=["Cs"]), max_size=9
)


@settings(deadline=None)
@given(data=st.data(), width=st.integers(4, 60))
def test_every_line_fits_and_every_block_is_straight(data, width):
    source = data.draw(st.lists(LABELS, min_size=1, max_size=9))
    target = data.draw(st.lists(LABELS, min_size=1, max_size=4))
    cells = len(source) * len(target)
    weights = np.array(
        data.draw(st.lists(st.floats(0, 1), min_size=cells, max_size=cells))
    ).reshape(len(target), len(source))
    drawn = lines(weights, source, target, width)
    assert all(cell_len(line) <= width for line in drawn)

    height = 1 + len(target)
    blocks = [drawn[start : start + height] for start in range(0, len(drawn), height + 1)]
    assert all(len(block) == height for block in blocks)
    # Every line of a block ends in the same terminal column: nothing wide moved it.
    assert all(len({cell_len(line) for line in block}) == 1 for block in blocks)


@settings(deadline=None)
@given(
    labels=st.lists(
        st.text("ab한국語のカタ", min_size=1, max_size=4), min_size=1, max_size=6
    ).flatmap(lambda names: st.tuples(st.just(names), st.permutations(names)))
)
def test_with_chinese_japanese_korean_each_number_ends_where_its_label_ends(labels):
    source, target = labels
    weights = np.linspace(0.11, 0.99, len(source) * len(target)).reshape(len(target), -1)
    header, *rows = lines(weights, source, target, 200)
    label_width = max(map(cell_len, target))

    def ends(line: str) -> list[int]:
        """The terminal columns at which a word ends."""
        return [
            cell_len(line[: i + 1])
            for i, c in enumerate(line)
            if c != " " and (i + 1 == len(line) or line[i + 1] == " ")
        ]

    for i, row in enumerate(rows):
        assert ends(row)[1:] == ends(header)
        assert ends(row)[0] == label_width
        assert row.split() == [target[i], *(digits(w) for w in weights[i])]


def test_the_mark_takes_no_room():
    assert cell_len("\u200e") == 0
    assert unicodedata.bidirectional("\u200e") == "L"


@pytest.mark.parametrize("width", [1, 2, 3])
def test_even_a_hopeless_console_does_not_raise(width):
    assert lines(WEIGHTS, SOURCE, TARGET, width)
