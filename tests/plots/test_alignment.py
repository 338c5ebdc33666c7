"""What a figure shows is what it was given."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from regard import plots

pytest.importorskip("matplotlib")
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

# Three queries over four keys; no two cells alike, so that a turned or flipped grid shows.
WEIGHTS = np.array(
    [[0.70, 0.20, 0.06, 0.04], [0.10, 0.55, 0.30, 0.05], [0.01, 0.02, 0.12, 0.85]],
)
SOURCE = ["c", "a", "k", "e"]
TARGET = ["K", "EY", "K"]
ONE_CELL = [[1.0]]


def grid_axes(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.images]


def texts(ticks: list) -> list[str]:
    return [tick.get_text() for tick in ticks]


def shown_text(artist: object) -> bool:
    return isinstance(artist, Text) and bool(artist.get_text())


def values(ax: Axes) -> dict[tuple[int, int], str]:
    """What each cell says, by (row, column) as drawn."""
    return {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in ax.texts}


def test_the_image_is_the_weights_with_queries_down_and_keys_across():
    (ax,) = grid_axes(plots.alignment(WEIGHTS, SOURCE, TARGET))
    image = ax.images[0]
    assert np.array_equal(image.get_array(), WEIGHTS)
    assert image.origin == "upper"
    # In pixels: query 0 is drawn above query 2, key 0 to the left of key 3.
    top, bottom = (ax.transData.transform((0, row))[1] for row in (0, 2))
    left, right = (ax.transData.transform((column, 0))[0] for column in (0, 3))
    assert top > bottom
    assert left < right


def test_the_drawn_pixels_have_the_colours_of_their_weights(tmp_path):
    figure = plots.alignment(WEIGHTS, SOURCE, TARGET)
    (ax,) = grid_axes(figure)
    for text in list(ax.texts):
        text.remove()
    plots.save(figure, tmp_path / "grid.png", dpi=100)
    drawn = np.asarray(Image.open(tmp_path / "grid.png").convert("L"), dtype=float)
    gray = np.empty_like(WEIGHTS)
    for row, column in np.ndindex(WEIGHTS.shape):
        across, up = ax.transData.transform((column, row))
        gray[row, column] = drawn[round(drawn.shape[0] - up), round(across)]
    # The heavier, the darker, in order.
    assert np.array_equal(np.argsort(-gray, axis=None), np.argsort(WEIGHTS, axis=None))


def test_every_label_has_its_own_tick_in_order_and_keys_are_on_top():
    source = [f"s{j}" for j in range(40)]
    target = [f"t{i}" for i in range(30)]
    figure = plots.alignment(np.full((30, 40), 1 / 40), source, target)
    (ax,) = grid_axes(figure)
    figure.canvas.draw()
    assert texts(ax.get_xticklabels()) == source
    assert texts(ax.get_yticklabels()) == target
    assert list(ax.get_xticks()) == list(range(40))
    assert list(ax.get_yticks()) == list(range(30))
    for tick in ax.xaxis.get_major_ticks():
        assert tick.label2.get_visible()  # on top
        assert not tick.label1.get_visible()
    for ticks in (ax.get_xticklabels(), ax.get_yticklabels()):
        # Room for each: leaning labels need their height along the slope.
        gap = np.diff([t.get_transform().transform(t.get_position()) for t in ticks], axis=0)
        gap = np.linalg.norm(gap, axis=1) * np.cos(np.radians(ticks[0].get_rotation()))
        assert gap.min() > ticks[0].get_fontsize() * figure.dpi / 72


@pytest.mark.parametrize("longest", [1, 9, 30])
def test_nothing_is_cut_off_at_the_edges(longest):
    labels = ["w" * longest] * 5
    figure = plots.alignment(np.eye(5), labels, labels, title="long " * longest)
    canvas = figure.bbox
    for box in (ax.get_tightbbox() for ax in figure.axes):
        assert box.x0 >= canvas.x0
        assert box.y0 >= canvas.y0
        assert box.x1 <= canvas.x1
        assert box.y1 <= canvas.y1


def test_the_figure_grows_with_the_labels():
    small, tall, wide = (
        plots.alignment(np.full(shape, 0.1), ["a"] * shape[1], ["b"] * shape[0]).get_size_inches()
        for shape in ((4, 4), (12, 4), (4, 12))
    )
    assert tall[1] > small[1] + 3
    assert wide[0] > small[0] + 3
    assert tall[0] == pytest.approx(small[0])


def test_small_grids_say_their_weights():
    (ax,) = grid_axes(plots.alignment(WEIGHTS, SOURCE, TARGET))
    assert values(ax) == {
        (0, 0): ".70", (0, 1): ".20", (0, 2): ".06", (0, 3): ".04",
        (1, 0): ".10", (1, 1): ".55", (1, 2): ".30", (1, 3): ".05",
        (2, 0): ".01", (2, 1): ".02", (2, 2): ".12", (2, 3): ".85",
    }  # fmt: skip
    (ax,) = grid_axes(plots.alignment([[1.0, 0.0]], "ab", "c"))
    assert values(ax) == {(0, 0): "1.00", (0, 1): ".00"}


@pytest.mark.parametrize(("shape", "cells"), [((12, 12), 144), ((13, 2), 0), ((2, 13), 0)])
def test_larger_grids_do_not(shape, cells):
    (ax,) = grid_axes(plots.alignment(np.full(shape, 0.1), ["a"] * shape[1], ["b"] * shape[0]))
    assert len(ax.texts) == cells


def test_the_scale_is_0_to_1_and_the_bar_says_weight():
    figure = plots.alignment(WEIGHTS * 0.1, SOURCE, TARGET)
    assert grid_axes(figure)[0].images[0].get_clim() == (0.0, 1.0)
    (bar,) = (ax for ax in figure.axes if ax.get_label() == "weight")
    assert bar.get_ylabel() == "weight"
    assert bar.get_ylim() == (0.0, 1.0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_lists_and_arrays_are_drawn_alike(dtype):
    tensor = torch.tensor(WEIGHTS, dtype=dtype, requires_grad=True)
    (ax,) = grid_axes(plots.alignment(tensor, SOURCE, TARGET))
    assert np.array_equal(ax.images[0].get_array(), tensor.detach().double().numpy())
    (ax,) = grid_axes(plots.alignment(WEIGHTS.tolist(), SOURCE, TARGET))
    assert np.array_equal(ax.images[0].get_array(), WEIGHTS)


def test_given_axes_are_drawn_on_and_others_left_alone():
    mine = Figure(figsize=(9, 4))
    left, right = mine.subplots(1, 2)
    assert plots.alignment(WEIGHTS, SOURCE, TARGET, ax=left, title="cake") is mine
    assert tuple(mine.get_size_inches()) == (9, 4)
    assert np.array_equal(left.images[0].get_array(), WEIGHTS)
    assert texts(left.get_xticklabels()) == SOURCE
    assert left.get_title() == "cake"
    assert not right.images
    assert [child.get_ylabel() for child in left.child_axes] == ["weight"]
    plots.alignment(WEIGHTS.T, TARGET, SOURCE, ax=right)
    assert np.array_equal(right.images[0].get_array(), WEIGHTS.T)
    mine.canvas.draw()


def test_axes_without_a_figure_are_an_error():
    figure = Figure()
    ax = figure.subplots()
    ax.remove()
    with pytest.raises(ValueError, match="ax belongs to no figure"):
        plots.alignment(WEIGHTS, SOURCE, TARGET, ax=ax)


def test_the_users_style_does_not_make_it_illegible():
    with rc_context({"axes.grid": True, "text.color": "white", "image.origin": "lower"}):
        figure = plots.alignment(WEIGHTS, SOURCE, TARGET, title="cake")
    (ax,) = grid_axes(figure)
    assert ax.images[0].origin == "upper"
    assert not any(text.get_color() == "white" for text in figure.findobj(shown_text))
    assert figure.get_facecolor() == (1, 1, 1, 1)


def test_tokens_are_never_read_as_formulas(tmp_path):
    tokens = ["$x_1$", "$", r"\frac", "a_b"]
    figure = plots.alignment(np.eye(4), tokens, tokens, title="$5")
    (ax,) = grid_axes(figure)
    assert texts(ax.get_xticklabels()) == tokens
    plots.save(figure, tmp_path / "formula.png")  # would fail to parse
    given = {*tokens, "$5"}
    labels = [text for text in figure.findobj(shown_text) if text.get_text() in given]
    assert {label.get_text() for label in labels} == given
    assert not any(label.get_parse_math() for label in labels)


def test_invisible_labels_are_made_visible():
    (ax,) = grid_axes(plots.alignment(np.eye(4), [" ", "", "a\nb", "\x1b"], list("abcd")))
    assert texts(ax.get_xticklabels()) == ["␣", "∅", r"a\nb", r"\x1b"]


def test_panels_share_one_scale_and_one_bar():
    panels = [
        (WEIGHTS, SOURCE, TARGET),
        (WEIGHTS.T, TARGET, SOURCE),
        (np.eye(20), ["word"] * 20, ["b"] * 20),
    ]
    figure = plots.alignments(panels, ncols=2, titles=["one", "", "three"])
    axes = grid_axes(figure)
    assert len(figure.axes) == 4
    for ax, (weights, source, target) in zip(axes, panels, strict=True):
        assert np.array_equal(ax.images[0].get_array(), weights)
        assert texts(ax.get_xticklabels()) == source
        assert texts(ax.get_yticklabels()) == target
        assert ax.images[0].get_clim() == (0.0, 1.0)
    assert [ax.get_title(loc="left") for ax in axes] == ["one", "", "three"]
    first, second, third = (ax.get_position() for ax in axes)
    assert first.y1 == pytest.approx(second.y1)
    assert first.x0 == pytest.approx(third.x0)
    assert third.y1 < min(first.y0, second.y0)
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    # The bar begins below the labels that lean over it; the panels keep apart.
    assert not any(a.overlaps(b) for i, a in enumerate(boxes[:3]) for b in boxes[:i])
    assert all(figure.bbox.containsx(b.x0) and figure.bbox.containsx(b.x1) for b in boxes)
    assert all(figure.bbox.containsy(b.y0) and figure.bbox.containsy(b.y1) for b in boxes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), r"plots.alignments: there are no panels. .* Pass a list\."),
        (([(WEIGHTS, SOURCE, TARGET)], {"titles": ["a", "b"]}), "2 titles for 1 panels"),
        (([(WEIGHTS, SOURCE, TARGET)], {"ncols": 0}), r"ncols=0\. .* Pass 1 or more"),
        (
            ([(WEIGHTS, SOURCE, TARGET), (WEIGHTS, TARGET, TARGET)],),
            r"plots.alignments: panel 1: source has 3 labels but weights has 4 columns",
        ),
    ],
)
def test_wrong_panels_are_named(arguments, message):
    panels, options = (*arguments, {})[:2]
    with pytest.raises(ValueError, match=message):
        plots.alignments(panels, **options)


def test_a_saved_png_opens_and_has_the_figures_size(tmp_path):
    figure = plots.alignment(WEIGHTS, SOURCE, TARGET, title="cake")
    plots.save(figure, str(tmp_path / "cake.png"), dpi=120)
    with Image.open(tmp_path / "cake.png") as image:
        image.load()
        expected = figure.get_size_inches() * 120
        assert np.abs(np.array(image.size) - expected).max() <= 1
    assert os.listdir(tmp_path) == ["cake.png"]


@pytest.mark.parametrize(
    ("name", "beginning"), [("a.PNG", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")]
)
def test_the_ending_chooses_the_kind(tmp_path, name, beginning):
    plots.save(plots.alignment(WEIGHTS, SOURCE, TARGET), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(beginning)


@pytest.mark.parametrize("name", ["a.docx", "a", "png"])
def test_an_unknown_ending_is_an_error(tmp_path, name):
    with pytest.raises(
        ValueError, match=r"(ends with|no ending).*chooses the kind of file\. Use one .*png"
    ):
        plots.save(plots.alignment(WEIGHTS, SOURCE, TARGET), tmp_path / name)
    assert not os.listdir(tmp_path)


def test_a_missing_directory_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"'.*nowhere', which does not exist.*Make it first"):
        plots.save(plots.alignment(WEIGHTS, SOURCE, TARGET), tmp_path / "nowhere" / "a.png")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_text("old")
    figure = plots.alignment(WEIGHTS, SOURCE, TARGET)

    def fail(where: Path, **options: object) -> None:
        Path(where).write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        plots.save(figure, path)
    assert os.listdir(tmp_path) == ["a.png"]
    assert path.read_text() == "old"


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'regard\[plots\]'"):
        plots.alignment(WEIGHTS, SOURCE, TARGET)
    with pytest.raises(ImportError, match=r"pip install 'regard\[plots\]'"):
        plots.alignments([(WEIGHTS, SOURCE, TARGET)])


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_neither_matplotlib_nor_torch():
    loaded = run(
        "import sys, regard.plots as p; p.alignment, p.save, p.terminal_alignment;"
        "print([m for m in ('matplotlib', 'torch', 'regard.models') if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_drawing_needs_no_pyplot_and_no_display(tmp_path):
    loaded = run(
        "import sys, regard.plots as p;"
        f"p.save(p.alignment([[1.0]], 'a', 'b'), {str(tmp_path / 'a.png')!r});"
        "print([m for m in ('matplotlib.pyplot', 'torch') if m in sys.modules])",
        DISPLAY="",
        MPLBACKEND="qtagg",
    )
    assert loaded.strip() == "[]"


def test_the_function_stays_under_its_name_however_its_file_is_imported():
    run(
        "import regard.plots.alignment; from regard.plots.alignment import save;"
        "import regard.plots as p; assert p.alignment.__name__ == 'alignment' and p.alignment(\n"
        "[[1.0]], 'a', 'b')"
    )


def test_the_demo_prints_and_writes_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "regard.plots.alignment"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "q1 46 31 23" in done.stdout
    assert not os.listdir(tmp_path)


def test_long_labels_are_cut_and_a_long_title_too():
    figure = plots.alignment(ONE_CELL, ["x" * 3000], ["y" * 33], title="t" * 3000)
    (ax,) = grid_axes(figure)
    assert texts(ax.get_xticklabels()) == ["x" * 31 + "…"]
    assert texts(ax.get_yticklabels()) == ["y" * 31 + "…"]
    assert len(ax.get_title(loc="left")) == 200
    assert max(figure.get_size_inches()) < 20
    (ax,) = grid_axes(plots.alignment(ONE_CELL, ["x" * 32], ["y"]))
    assert texts(ax.get_xticklabels()) == ["x" * 32]


@pytest.mark.parametrize(("positions", "every"), [(200, 1), (201, 2), (600, 3)])
def test_a_large_grid_stays_on_the_screen_with_as_many_labels_as_have_room(positions, every):
    source = [f"s{j}" for j in range(positions)]
    figure = plots.alignment(np.full((2, positions), 1 / positions), source, ["x", "y"])
    (ax,) = grid_axes(figure)
    assert max(figure.get_size_inches()) < 27
    assert texts(ax.get_xticklabels()) == source[::every]
    assert list(ax.get_xticks()) == list(range(0, positions, every))
    first, second = ax.get_xticks()[:2]
    gap = ax.transData.transform((second, 0))[0] - ax.transData.transform((first, 0))[0]
    assert gap / figure.dpi > 0.1199


def test_a_place_that_cannot_be_written_to_is_told_by_its_own_name(tmp_path, monkeypatch):
    def refuse(path: Path, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(PermissionError) as caught:
        plots.save(plots.alignment(ONE_CELL, "a", "b"), tmp_path / "a.png")
    assert caught.value.filename == str(tmp_path / "a.png")


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(ValueError, match="is a device or a pipe"):
        plots.save(plots.alignment(ONE_CELL, "a", "b"), tmp_path / "a.png")
    assert (tmp_path / "a.png").is_fifo()
