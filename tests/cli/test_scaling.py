"""`regard scaling`: the table, what is kept, and what it refuses."""

import json
from importlib import import_module

from tests.cli.command import error_of, plain, run

MODULE = import_module("regard.experiments.scaling")  # the package gives its name to a function


def test_it_prints_a_table_and_then_reads_it_from_its_cells(monkeypatch, tmp_path):
    budget = MODULE.Budget(embed_dim=4, num_symbols=9, key_len=3, updates=4, num_test=10)
    monkeypatch.setattr(MODULE, "QUICK", budget)
    arguments = ("scaling", "--quick", "--key-dims", "4,6", "--to", tmp_path)
    ran = run(*arguments)
    assert ran.status == 0, ran.err
    assert "recall after 4 updates; 1 seed(s)" in plain(ran.out)
    again = run(*arguments, "--json")
    assert (again.status, again.err) == (0, "done\n")
    rows = json.loads(again.out)["rows"]
    assert rows == json.loads((tmp_path / "scaling.json").read_text())["rows"]
    assert [row["key_dim"] for row in rows] == [4, 4, 4, 6, 6, 6]

    # the same folder, and another budget
    assert error_of(run("scaling", "--key-dims", "4", "--to", tmp_path)).startswith(
        f"{tmp_path / 'cells' / 'dim-4-dot-seed-1.json'} was measured with "
    )


def test_what_cannot_be_compared_is_one_error(tmp_path):
    assert error_of(run("scaling", "--to", tmp_path, "--key-dims", "1")) == (
        "--key-dims 1 cannot be compared. Give whole numbers from 2 to 2048, each once."
    )
    assert error_of(run("scaling", "--to", tmp_path, "--key-dims", "8;9")).startswith(
        "--key-dims '8;9' cannot be read. "
    )
