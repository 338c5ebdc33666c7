"""`regard explain`: the report on a tiny model, and what it refuses."""

import json

import pytest

from tests.cli.command import error_of, run


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


def test_a_model_that_is_as_accurate_as_itself_cannot_decide(model, few):
    ran = run("explain", model, few, "--frozen", model)
    assert ran.status == 0
    assert ran.out.startswith("Cannot decide on this data (frozen attention does as well).\n")


def test_what_it_cannot_examine_ends_with_one_error(model, blind_model, few, tmp_path):
    assert error_of(run("explain", blind_model, few)) == (
        "explain: translator was trained with attention 'none', so it has no weights to test. "
        "Give a model with attention."
    )
    assert "Its attention must be uniform." in error_of(
        run("explain", model, few, "--uniform", model)
    )
    assert "does not exist" in error_of(run("explain", model, few, "--seed-model", "nowhere"))
    assert "is a folder" in error_of(run("explain", model, few, "--html", tmp_path))
    assert "--max-examples 0" in error_of(run("explain", model, few, "--max-examples", 0))
