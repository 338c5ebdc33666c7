"""`regard bottleneck`: the table, Ctrl-C, and what it refuses."""

import json
import signal
from importlib import import_module

import pytest

from tests.cli.command import error_of, finish, plain, run, start

MODULE = import_module("regard.experiments.bottleneck")  # the package gives its name to a function


@pytest.fixture
def tiny(monkeypatch):
    """A budget of seconds in place of that of --quick."""
    budget = MODULE.Budget(
        embed_dim=4, hidden_dim=8, num_pairs=400, epochs=1, batch_size=64, num_test=5, num_aligned=2
    )
    monkeypatch.setattr(MODULE, "QUICK", budget)


@pytest.mark.slow
def test_it_prints_a_table_and_then_reads_it_from_its_cells(tiny, tmp_path):
    arguments = ("bottleneck", "--quick", "--mixed", "--lengths", "12,15", "--to", tmp_path / "a")
    ran = run(*arguments)
    assert ran.status == 0, ran.err
    assert "copy, trained on 1 to 10; 1 seed(s)" in plain(ran.out)
    assert f"Written: {tmp_path / 'a' / 'bottleneck-mixed.csv'}," in ran.out
    assert "3 of 3: copy-mixed-luong-seed-1" in ran.err
    again = run(*arguments, "--json")
    assert (again.status, again.err) == (0, "done\n")
    table = json.loads(again.out)
    assert table == json.loads((tmp_path / "a" / "bottleneck-mixed.json").read_text())
    assert [row["length"] for row in table["rows"]] == [12, 12, 12, 15, 15, 15]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    for to in (tmp_path / "file", tmp_path / "file" / "below"):
        assert error_of(run("bottleneck", "--quick", "--to", to)) == (
            f"--to {to}: {tmp_path / 'file'} is a file, not a folder. Choose another --to."
        )


def test_ctrl_c_between_trainings_ends_with_130_and_says_how_to_go_on(monkeypatch, tmp_path):
    def stopped(settings, tell):
        raise KeyboardInterrupt

    monkeypatch.setattr(MODULE, "measure_copying", stopped)
    ran = run("bottleneck", "--quick", "--to", tmp_path)
    assert (ran.status, ran.out) == (130, "")
    assert ran.err.endswith(
        f"Stopped. What is finished is kept in {tmp_path / 'cells'}: the same command goes on from "
        "there.\n"
    )


@pytest.mark.slow
def test_ctrl_c_in_a_training_ends_with_130_and_leaves_no_part(tmp_path):
    process = start("bottleneck", "--quick", "--to", tmp_path)
    assert process.stderr.readline().startswith(b"1 of 9: ")
    process.send_signal(signal.SIGINT)
    ran = finish(process)
    assert (ran.status, ran.out) == (130, "")
    assert "Stopped." in ran.err
    assert "Traceback" not in ran.err
    assert list((tmp_path / "cells").iterdir()) == []


def test_what_cannot_be_compared_is_one_error(tmp_path):
    def refused(*options):
        return error_of(run("bottleneck", "--to", tmp_path, *options))

    assert refused("--lengths", "5,x") == (
        "--lengths '5,x' cannot be read. Give whole numbers with commas between them, as in "
        "8,16,32."
    )
    assert refused("--lengths", "3").startswith("--lengths 3 cannot be compared. ")
    assert refused("--task", "add") == (
        "--task 'add' is unknown. Choose one of: copy, reverse, sort."
    )
    assert refused("--seeds", "0") == "--seeds 0. Give a whole number from 1 to 100."
    (tmp_path / "file").write_text("")
    assert "file" in error_of(run("bottleneck", "--quick", "--to", tmp_path / "file"))
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
