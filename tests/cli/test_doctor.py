"""`regard doctor`: exit status, output for people and programs, and tests that it writes."""

import json
import subprocess
import sys

import pytest

from tests.cli.command import error_of, run

SOUND = '''
import numpy as np

def attend(query, keys):
    """Dot-product attention. query (d,), keys (T, d)"""
    print("noise")
    scores = keys @ query
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return weights @ keys, weights
'''
BROKEN = SOUND.replace("weights.sum()", "weights.max()")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(BROKEN)
    return path


def test_the_first_line_says_that_the_code_runs_and_the_end_is_the_status(file):
    ran = run("doctor", f"{file}:attend")
    assert ran.status == 1
    assert ran.out.startswith("regard doctor runs the code it is given: ")
    assert "1 fault" in " ".join(ran.out.split())  # a long path breaks the line
    file.write_text(SOUND)
    ran = run("doctor", f"{file}:attend")
    assert ran.status == 0
    assert "sound" in ran.out
    assert "noise" not in ran.out


def test_json_is_one_object_whatever_the_code_prints(file):
    ran = run("doctor", f"{file}:attend", "--json")
    told = json.loads(ran.out)
    assert (ran.status, told["status"]) == (1, 1)
    assert list(told["findings"][0]) == [
        *("fault", "tensor", "rule", "seen", "fix", "certainty", "checks", "test"),
        *("file", "line", "code"),
    ]


def test_written_tests_fail_and_pass_once_fixed_and_are_not_overwritten(file, tmp_path):
    tests = tmp_path / "checks" / "test_own.py"
    wanted = ("doctor", f"{file}:attend", "--write-tests", tests)
    assert "does not exist" in error_of(run(*wanted), status=2)
    tests.parent.mkdir()
    assert run(*wanted).status == 1
    assert str(tmp_path) not in tests.read_text()  # it may be moved with the code
    pytest_run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    assert subprocess.run(pytest_run, cwd=tmp_path, capture_output=True).returncode == 1
    file.write_text(SOUND)
    assert subprocess.run(pytest_run, cwd=tmp_path, capture_output=True).returncode == 0
    assert "exists. Give another name, or --force." in error_of(run(*wanted), status=2)
    assert run(*wanted, "--force").status == 0
    assert list(tests.parent.glob(".*")) == []


def test_an_expected_fault_is_none_and_is_listed(file):
    ran = run("doctor", f"{file}:attend", "--expect-failure", "softmax-axis")
    assert ran.status == 0
    assert "softmax-axis: " in ran.out.partition("failed, as expected")[2]


def test_an_expected_failure_is_none(file):
    expected = ("--expect-failure", "weights-sum-to-one")
    checks = json.loads(run("doctor", f"{file}:attend", "--json").out)["findings"][0]["checks"]
    options = [part for check in checks for part in ("--expect-failure", check)] or expected
    ran = run("doctor", f"{file}:attend", *options)
    assert ran.status == 0
    assert "failed, as expected" in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--bind", "query"), "--bind 'query' is not a pair. Give ROLE=NAME"),
        (("--bind", "query=a", "--bind", "query=b"), "--bind 'query=b' is the second for query"),
        (("--score", "cosine"), "--score 'cosine' is unknown"),
        (("--mask-true", "x"), "--mask-true 'x' is unknown"),
        (("--scale", "nan"), "--scale nan cannot multiply scores. Give a finite number"),
        (("--scale", "-inf"), "--scale -inf cannot multiply scores"),
        (("--scale", "0"), "--scale 0.0 cannot multiply scores"),
        (("--scale", "half"), "--scale 'half' is not a number"),
        (("--timeout", "0"), "--timeout 0.0 is not above 0"),
        (("--expect-failure", "x"), "--expect-failure has 'x', which is no check and no fault"),
    ],
)
def test_a_bad_option_is_refused_before_anything_runs(file, options, said):
    error = error_of(run("doctor", f"{file}:attend", *options), status=2)
    assert error.startswith(f"doctor: {said}")


def test_with_json_an_error_is_an_object_too(file, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("def attend(")
    for target, option, said in [
        (f"{tmp_path / 'nowhere.py'}:attend", (), "does not exist"),
        (f"{broken}:attend", (), "SyntaxError"),
        (f"{file}:attend", ("--scale", "half"), "--scale 'half' is not a number"),
    ]:
        ran = run("doctor", target, "--json", *option)
        told = json.loads(ran.out)
        assert (ran.status, told["status"], told["subject"], ran.err) == (2, 2, target, "")
        assert said in told["question"]


def test_the_examined_code_is_never_overwritten_under_any_name(file, tmp_path):
    link = tmp_path / "test_link.py"
    link.symlink_to(file)
    for name in (file, tmp_path / "." / "own.py", link):
        ran = run("doctor", f"{file}:attend", "--write-tests", name, "--force")
        assert "is the examined code" in error_of(ran, status=2)
    other = tmp_path / "other.py"
    other.write_text("from own import attend\n")
    ran = run("doctor", f"{other}:attend", "--write-tests", file, "--force")
    assert ran.status == 2
    assert "is the examined code" in ran.err
    assert file.read_text() == BROKEN


def test_a_bad_target_is_one_error_and_status_2(tmp_path):
    error = error_of(run("doctor", tmp_path / "nowhere.py:attend"), status=2)
    assert error.endswith("does not exist. Give a Python file before the colon.")
