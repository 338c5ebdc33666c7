"""However a command ends: one clear error, the right status, no traceback; help that teaches."""

import json
import os
import re
import shutil

import pytest

import regard
from tests.cli.command import Ran, error_of, finish, plain, run, start, usage_error_of

COMMANDS = ("train", "predict", "evaluate", "align", "kernels")


# ---- help ---------------------------------------------------------------------------------------


def test_help_names_every_command_and_shows_how_to_begin():
    ran = run("--help")
    assert (ran.status, ran.err) == (0, "")
    for command in COMMANDS:
        assert f" {command} " in plain(ran.out)
    for example in ("regard train cmudict --to model", "regard predict model", "regard align"):
        assert example in plain(ran.out)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_commands_help_shows_examples_on_lines_of_their_own(command):
    ran = run(command, "--help")
    assert (ran.status, ran.err) == (0, "")
    assert re.search(rf"Examples?:\s*\n\s*\n +(echo \w+ \| )?regard {command} ", ran.out)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("train", ("cmudict, copy, reverse, sort", "source TAB target", "--resume", "none (the")),
        ("train", ("additive, dot, scaled_dot, general, concat", "s(t-1)", "gru or lstm")),
        ("predict", ("[FILE|-]", "source, target, log_prob", "An empty line gives an empty line")),
        ("evaluate", ("words, word_errors, wer, tokens, token_errors, ter, words_per_second",)),
        ("align", ("SOURCE", "TARGET", "source and target tokens, weights", "--png")),
        ("kernels", ("additive, concat, dot, general or scaled_dot", "lengths&causal")),
    ],
)
def test_help_says_what_can_be_given_and_what_comes_out(command, words):
    told = plain(run(command, "--help").out)
    for phrase in words:
        assert phrase in told


def test_sentences_in_help_are_not_broken_where_the_source_breaks_them():
    assert "loses nothing: go on with --resume" in plain(run("train", "--help").out)
    assert not re.search(r"go on *\n", run("train", "--help").out)


def test_the_version_is_that_of_the_package():
    assert run("--version") == Ran(0, f"regard {regard.__version__}\n", "")


def test_an_empty_path_is_named_as_the_help_names_it(model):
    assert "Invalid value for 'MODEL_DIR': '' is an empty path." in usage_error_of(
        run("predict", "")
    )
    assert error_of(run("predict", model, "")).startswith("FILE '' is an empty path. Give")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_what_may_not_be_read_is_refused_with_a_fix(tmp_path, monkeypatch, command):
    monkeypatch.setattr("os.access", lambda *arguments, **options: False)
    error = usage_error_of(run(command, tmp_path, *([tmp_path] if command == "evaluate" else [])))
    assert error.startswith("Usage:")
    assert "'MODEL_DIR': " in error
    assert error.endswith("is not readable. Ask for the right to read it, or give another path.")


def test_no_command_shows_the_help_and_an_unknown_one_is_an_error():
    assert "Commands" in plain("".join(run()[1:]))
    assert run().status == 2
    assert "No such command 'fly'" in usage_error_of(run("fly"))


# ---- models that are none -----------------------------------------------------------------------


def missing(folder):
    shutil.rmtree(folder)


def a_file(folder):
    shutil.rmtree(folder)
    folder.write_text("model")


def empty(folder):
    shutil.rmtree(folder)
    folder.mkdir()


def truncated(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])


def not_json(folder):
    (folder / "config.json").write_text("{")


def foreign(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))


def other_sizes(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_dim": 12}))


@pytest.mark.parametrize("command", ["predict", "evaluate", "align"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (missing, "does not exist"),
        (a_file, "is a file, not a folder"),
        (empty, "has no config.json and no tokenizer.json and no model.safetensors"),
        (truncated, "cannot be used"),
        (not_json, "config.json is not JSON"),
        (foreign, "another program's model"),
        (other_sizes, "do not belong together"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_model_that_is_none_is_one_error(model, data, tmp_path, command, damage, message):
    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    damage(folder)
    last = {"predict": (), "evaluate": (data / "test.tsv",), "align": ("ab",)}[command]
    error = error_of(run(command, folder, *last))
    assert error.startswith(f"model folder {folder} ")
    assert message in error
    assert len(error) < 700


# ---- as a process -------------------------------------------------------------------------------


def test_an_error_of_a_process_is_one_line_on_standard_error(tmp_path):
    ran = finish(start("predict", tmp_path / "no-é", LC_ALL="C"))
    assert error_of(ran).startswith("model folder ")


def test_help_of_a_process_ends_with_0():
    ran = finish(start("--help"))
    assert isinstance(ran, Ran)
    assert (ran.status, ran.err) == (0, "")
    assert "python -m regard" in ran.out


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a Linux device")
def test_a_full_disk_behind_standard_output_is_one_error(model):
    with open("/dev/full", "wb") as full:
        process = start("predict", model, stdout=full)
    _, err = process.communicate(b"ab\n", timeout=120)
    assert (process.returncode, err) == (
        1,
        b"error: the output: No space left on device. Make room, or write elsewhere.\n",
    )
