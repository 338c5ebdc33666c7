"""Cells: measured once, kept, refused where they do not belong."""

import json

import pytest

from regard.experiments import CellError
from regard.experiments.cells import measure_all

WANTED = {"two": {"x": 2}, "three": {"x": 3}, "five": {"x": 5}}


class Squares:
    """Measures squares, counts its calls, and is stopped before some cell."""

    def __init__(self, stopped_at=None):
        self.seen, self.stopped_at = [], stopped_at

    def __call__(self, settings, tell):
        if settings["x"] == self.stopped_at:
            raise KeyboardInterrupt
        self.seen.append(settings["x"])
        tell(0.5)
        return {"squared": settings["x"] ** 2}


def _squares(folder, measure, wanted=WANTED, told=None):
    tell = (lambda share, what: told.append((share, what))) if told is not None else _nothing
    return [c.measured["squared"] for c in measure_all(wanted, measure, folder=folder, tell=tell)]


def _nothing(share, what):
    pass


def test_what_was_stopped_goes_on_where_it_was(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        _squares(tmp_path, Squares(stopped_at=3))
    assert [path.name for path in tmp_path.iterdir()] == ["two.json"]
    second = Squares()
    assert _squares(tmp_path, second) == [4, 9, 25]
    assert second.seen == [3, 5]
    assert _squares(tmp_path, Squares(stopped_at=5)) == [4, 9, 25]  # nothing is left to measure


def test_it_tells_how_far_it_is_kept_cells_included(tmp_path):
    _squares(tmp_path, Squares(), {"two": {"x": 2}})
    told = []
    _squares(tmp_path, Squares(), told=told)
    assert told == [
        (pytest.approx(1 / 3), "2 of 3: three"),
        (pytest.approx(1.5 / 3), "2 of 3: three"),
        (pytest.approx(2 / 3), "3 of 3: five"),
        (pytest.approx(2.5 / 3), "3 of 3: five"),
        (1.0, "done"),
    ]


def test_a_cell_of_other_settings_is_refused_before_anything_is_measured(tmp_path):
    _squares(tmp_path, Squares(), {"five": {"x": 5}})
    squares = Squares()
    with pytest.raises(CellError) as error:
        _squares(tmp_path, squares, {"two": {"x": 2}, "five": {"x": 6}})
    assert str(error.value) == (
        f"{tmp_path / 'five.json'} was measured with x 5, and now it is 6. The cells of one folder "
        f"belong to one experiment. Choose another folder, or delete {tmp_path}."
    )
    assert squares.seen == []


@pytest.mark.parametrize("content", ["{", "[]", '{"settings": {"x": 2}}', "\udcff"])
def test_a_damaged_cell_is_refused(tmp_path, content):
    (tmp_path / "two.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(CellError, match=r"two\.json is damaged.*Delete it"):
        _squares(tmp_path, Squares())


def test_a_cell_is_plain_json(tmp_path):
    _squares(tmp_path, Squares(), {"two": {"x": 2}})
    assert json.loads((tmp_path / "two.json").read_text()) == {
        "settings": {"x": 2},
        "measured": {"squared": 4},
    }


def test_a_number_that_json_cannot_hold_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        measure_all(
            {"two": {"x": 2}}, lambda s, t: {"y": float("nan")}, folder=tmp_path, tell=_nothing
        )
    assert list(tmp_path.iterdir()) == []
