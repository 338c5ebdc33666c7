"""`regard explain`: the report on a tiny model, and what it refuses."""

import errno
import json

import pytest

from tests.cli.command import error_of, plain, run


@pytest.fixture(scope="module")
def few(data, tmp_path_factory):
    """Three pairs of the test set."""
    path = tmp_path_factory.mktemp("few") / "few.tsv"
    lines = (data / "test.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(sorted(lines, key=len)[4:7]), encoding="utf-8")
    return path


@pytest.mark.slow
def test_it_reports_in_words_in_json_and_as_a_page(model, few, tmp_path):
    ran = run("explain", model, few, "--max-examples", 2, "--html", tmp_path / "a.html", "--json")
    assert (ran.status, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert list(told) == ["headline", "claims", "sections", "settings"]
    assert told["claims"][0]["grade"] == "not tested"
    assert told["settings"]["examples"] == 2
    assert told["headline"] in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def uniform_model(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "uniform"
    like = ("--hidden-dim", 24, "--dropout", 0, "--attention", "uniform")
    assert run("train", *files, "--to", folder, "--epochs", 1, *like).status == 0
    return folder


def test_too_few_words_to_tell_cannot_decide(model, uniform_model, few):
    ran = run("explain", model, few, "--uniform", uniform_model)
    assert ran.status == 0
    assert plain(ran.out).startswith(
        "Cannot decide on this data (too few examples or trainings to tell whether uniform "
        "attention does as well)."
    )
    assert "of 3 examples." in plain(ran.out)


def test_the_report_is_told_even_if_the_page_cannot_be_written(
    model, uniform_model, few, tmp_path, monkeypatch
):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("regard.core.files.write_atomically", full)
    path = tmp_path / "a.html"
    ran = run("explain", model, few, "--uniform", uniform_model, "--html", path)
    assert ran.status == 1
    assert ran.out.startswith("Cannot decide on this data")
    assert ran.err == f"error: {path}: No space left on device. Make room, or write elsewhere.\n"


def test_the_page_is_refused_before_the_work(few, tmp_path):
    """There is no model, so that nothing but the check can have spoken."""
    nowhere = tmp_path / "nowhere"
    ended = error_of(run("explain", nowhere, few, "--html", tmp_path / "rep.txt"))
    assert ended.startswith(f"--html: '{tmp_path}/rep.txt' ends with '.txt'.")
    assert "does not exist" in error_of(run("explain", nowhere, few, "--html", nowhere / "a.html"))
    assert error_of(run("explain", nowhere, few, "--html", "/proc/a.html")).startswith(
        "/proc/a.html: "
    )


def test_a_model_is_called_by_the_option_and_the_folder_it_was_given_with(
    model, uniform_model, few
):
    assert error_of(run("explain", model, few, "--frozen", model)) == (
        f"explain: --frozen {model} has the very parameters of {model}. A model compared with "
        "itself tells nothing. Give one trained with --frozen-scores."
    )
    assert error_of(run("explain", model, few, "--seed-model", uniform_model)).startswith(
        f"explain: --seed-model {uniform_model} is another model: attention='uniform' where "
        f"{model} has 'additive', "
    )


def test_what_it_cannot_examine_ends_with_one_error(model, blind_model, few, tmp_path):
    assert error_of(run("explain", blind_model, few)) == (
        f"explain: {blind_model} was trained with attention 'none', so it has no weights to test. "
        "Give a model with attention."
    )
    assert "does not exist" in error_of(run("explain", model, few, "--seed-model", "nowhere"))
    folder = tmp_path / "a.html"
    folder.mkdir()
    assert "Is a directory" in error_of(run("explain", model, few, "--html", folder))
    assert "--seed -1. A seed is" in error_of(run("explain", model, few, "--seed", -1))
    assert "--margin 1.5. It is" in error_of(run("explain", model, few, "--margin", 1.5))
    assert "--max-examples 0" in error_of(run("explain", model, few, "--max-examples", 0))
