"""The bottleneck: what is counted, how it is put together, and a tiny run."""

import csv
import json
from dataclasses import asdict
from importlib import import_module
from types import SimpleNamespace

import pytest
import torch

from regard.experiments import Bottleneck, bottleneck, copying
from regard.experiments.cells import Cell
from regard.experiments.known_alignment import known_alignment
from regard.text import Pair

MODULE = import_module("regard.experiments.bottleneck")  # the package gives its name to a function
TINY = MODULE.Budget(
    embed_dim=4, hidden_dim=8, num_pairs=400, epochs=1, batch_size=32, num_test=7, num_aligned=3
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A tiny experiment, and its folder."""
    folder = tmp_path_factory.mktemp("bottleneck")
    experiment = Bottleneck(lengths=[6, 5], seeds=1, budget=TINY)
    return bottleneck(experiment, to=folder), experiment, folder


def test_each_model_has_a_row_at_each_length(ran):
    table, _, _ = ran
    assert [(row["length"], row["model"]) for row in table.rows] == [
        (length, model) for length in (5, 6) for model in ("none", "bahdanau", "luong")
    ]
    assert {row["updates"] for row in table.rows if row["length"] == 5} == {12}  # of 355 pairs
    assert all(row["test_pairs"] == 7 for row in table.rows)
    assert all(row["chance"] == pytest.approx(1 / 26) for row in table.rows)


def test_csv_and_json_hold_the_same(ran):
    table, _, folder = ran
    told = json.loads((folder / "bottleneck.json").read_text())
    assert told == {**table._asdict(), "settings": told["settings"]}
    assert told["settings"]["budget"] == asdict(TINY)
    with (folder / "bottleneck.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in told["rows"]
    ]


def test_the_pictures_are_there(ran):
    _, experiment, folder = ran
    for path in experiment.pictures(folder):
        assert path.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["bottleneck.csv", "bottleneck.json", "cells"]
        + [path.name for path in experiment.pictures(folder)]
    )


def test_finished_cells_are_not_trained_again_and_give_the_same_table(ran, monkeypatch):
    table, experiment, folder = ran
    one = folder / "cells" / "copy-length-6-luong-seed-1.json"
    before = json.loads(one.read_text())
    one.unlink()
    trained = []

    def measure(settings, tell):
        trained.append((settings["longest"], settings["model"]))
        return copying.measure_copying(settings, tell)

    monkeypatch.setattr(MODULE, "measure_copying", measure)
    again = bottleneck(experiment, to=folder)
    assert trained == [(6, "luong")]
    after = json.loads(one.read_text())
    del before["measured"]["seconds"], after["measured"]["seconds"]
    assert after == before
    without_time = [
        [{name: value for name, value in row.items() if name != "seconds"} for row in rows]
        for rows in (again.rows, table.rows)
    ]
    assert without_time[0] == without_time[1]


def test_only_the_model_without_attention_has_no_alignment(ran):
    table, _, _ = ran
    assert [row["model"] for row in table.rows if row["alignment_error_rate"] is None] == [
        "none",
        "none",
    ]
    for row in table.rows:
        if row["model"] != "none":  # copying has one link a step, on either side
            assert row["alignment_error_rate"] == pytest.approx(1 - row["steps_right"])


def test_a_token_is_right_at_its_place_and_a_sequence_if_it_is_equal(monkeypatch):
    pairs = [Pair(text, text) for text in ("a b c", "d e f", "g h i", "j k l")]
    found = ["a b c", "d f", "x h i", "j k l m"]
    monkeypatch.setattr(copying, "_test_pairs", lambda task, length, num_test: pairs)
    monkeypatch.setattr(
        copying,
        "predict",
        lambda translator, sources: [SimpleNamespace(target_tokens=f.split()) for f in found],
    )
    settings = {"task": "copy", "num_test": 4}
    blind = copying._fresh({"model": "none", "seed": 1, **asdict(TINY)})
    assert copying._tested(blind, settings, 3) == {
        "length": 3,
        "tokens_right": [3, 1, 2, 3],
        "sequences_right": [1, 0, 0, 0],
        "guess": 0.25,  # each place has four letters, once each
        "alignment": None,
    }


def test_a_step_is_right_where_its_largest_weight_is(monkeypatch):
    looks_straight = copying._fresh({"model": "luong", "seed": 1, **asdict(TINY)})
    monkeypatch.setattr(looks_straight, "align", lambda source, target: torch.eye(5))
    pairs = [Pair("a b c d e", "e d c b a")] * 4
    found = copying._aligned(looks_straight, {"task": "reverse", "num_aligned": 2}, pairs)
    assert found["steps_right"] == [1, 1]  # the middle one
    assert found["alignment_error_rate"] == pytest.approx(0.8)
    assert found["example"]["weights"] == torch.eye(5).tolist()
    assert copying._aligned(looks_straight, {"task": "copy", "num_aligned": 1}, pairs)[
        "steps_right"
    ] == [5]


def test_rows_are_means_over_seeds_and_examples():
    def cell(seed, tokens_right):
        part = {
            "length": 4,
            "tokens_right": tokens_right,
            "sequences_right": [int(right == 4) for right in tokens_right],
            "guess": 0.1,
            "alignment": {"steps_right": [2], "alignment_error_rate": 0.25 * seed, "example": {}},
        }
        measured = {"parameters": 9, "updates": 8, "seconds": 2.0 * seed, "by_length": [part]}
        return Cell({"model": "luong", "seed": seed}, measured)

    [row] = MODULE._rows([cell(1, [4, 4, 4]), cell(2, [4, 0, 2])])
    assert row["tokens_right"] == pytest.approx((12 + 6) / 24)
    assert row["sequences_right"] == pytest.approx(4 / 6)
    assert row["tokens_right_low"] < 0.75 < row["tokens_right_high"] <= 1.0
    assert (row["steps_right"], row["alignment_error_rate"]) == (0.5, 0.375)
    assert (row["seeds"], row["test_pairs"], row["seconds"]) == (2, 3, 3.0)


def test_no_test_source_was_trained_on():
    from regard.text import load_dataset

    trained = load_dataset("copy", length=6, min_length=1, num_pairs=5000).train
    tested = [pair.source for pair in copying._test_pairs("copy", 5, 100)]
    assert len(tested) == 100
    assert not set(tested) & {pair.source for pair in trained}


def test_mixed_lengths_are_one_training_of_each_model_and_seed():
    cells = Bottleneck(lengths=[20, 10], train_up_to=7, seeds=2, budget=TINY).cells()
    assert list(cells) == [
        f"copy-mixed-{model}-seed-{seed}"
        for seed in (1, 2)
        for model in ("none", "bahdanau", "luong")
    ]
    settings = cells["copy-mixed-none-seed-2"]
    assert (settings["shortest"], settings["longest"]) == (1, 7)
    assert settings["test_lengths"] == [10, 20]


def test_sizes_are_those_of_the_budget_for_every_model():
    for model in copying.MODELS:
        config = copying._fresh({"model": model, "seed": 1, **asdict(TINY)}).network.config
        assert (config.embed_dim, config.hidden_dim, config.state_dim) == (4, 8, 8)
        assert (config.dropout, config.window) == (0.0, 1)
        assert config.source_summary is (model == "none")


def test_known_alignments_by_hand():
    assert known_alignment("copy", ["b", "a"]).sure == {(0, 0), (1, 1)}
    assert known_alignment("reverse", ["c", "a", "b"]).possible == {(0, 2), (1, 1), (2, 0)}
    known = known_alignment("sort", ["b", "c", "a", "b"])  # a b b c
    assert known.sure == {(0, 2), (3, 1)}
    assert known.possible == {(0, 2), (3, 1), (1, 0), (1, 3), (2, 0), (2, 3)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"task": "add"}, "task='add' is unknown. Choose one of: copy, reverse, sort."),
        (
            {"lengths": [5, 4]},
            "lengths=5,4 cannot be compared. Give whole numbers from 5 to 200, each once.",
        ),
        ({"lengths": [7, 7]}, "lengths=7,7 cannot"),
        ({"lengths": []}, "lengths= cannot"),
        ({"seeds": 0}, "seeds=0. Give a whole number from 1 to 100."),
    ],
)
def test_what_cannot_be_compared_is_said(given, said):
    with pytest.raises(ValueError, match=said.replace(".", r"\.")):
        Bottleneck(**given)
