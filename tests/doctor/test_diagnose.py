"""The front of the doctor: processes with limits, reports, and what is expected to fail."""

import json
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest

from regard.doctor import Finding, Report, assert_sound, diagnose
from regard.doctor.findings import Certainty, CheckResult, Outcome, Place
from regard.doctor.look import as_expected
from regard.doctor.report.as_json import from_json, to_json
from regard.doctor.report.terminal import as_text

SOUND = '''
import numpy as np
print("imported")

def attend(query, keys):
    """Dot-product attention. query (d,), keys (T, d)"""
    print("called")
    scores = keys @ query
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return weights @ keys, weights
'''
BROKEN = SOUND.replace("weights.sum()", "weights.max()")


def written(folder, text, name="own.py"):
    (folder / name).write_text(text)
    return f"{folder / name}:attend"


def test_a_sound_function_in_this_process_is_found_sound():
    namespace: dict = {}
    exec(SOUND, namespace)
    assert diagnose(namespace["attend"], isolate=False).status == 0


def test_a_fault_is_found_in_a_copy_of_this_process(capfd):
    namespace: dict = {}
    exec(BROKEN, namespace)
    report = diagnose(namespace["attend"])
    assert report.status == 1
    assert "weights-sum-to-one" in {c.name for c in report.checks if c.outcome is Outcome.FAILED}
    assert capfd.readouterr().out == "imported\n"  # what the code prints stays in its process


def test_a_file_is_examined_in_a_new_process_and_its_tests_fail(tmp_path):
    report = diagnose(written(tmp_path, BROKEN))
    assert report.status == 1
    namespace = {"__name__": "written"}
    exec(report.test_file, namespace)
    tests = [test for name, test in namespace.items() if name.startswith("test_")]
    assert len(tests) == len(report.findings) + 1
    for test in tests:
        with pytest.raises(AssertionError):
            test()
    (tmp_path / "own.py").write_text(SOUND)
    for test in tests:
        test()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("while True: pass", r"did not end within 15 s and was stopped, in attend at .*own.py:\d+"),
        ("os._exit(0)", "ended the process by itself, with status 0"),
        ("os.kill(os.getpid(), 11)", r"died of SIGSEGV.*in attend at .*own.py:\d+"),
        ("x = [bytearray(1 << 28) for _ in range(99)]", "took more than 1 GiB of memory"),
    ],
)
def test_code_that_does_not_come_back_is_a_clear_answer(tmp_path, line, said):
    text = "import os\n" + SOUND.replace("    scores", f"    {line}\n    scores", 1)
    start = time.monotonic()
    report = diagnose(written(tmp_path, text), timeout=15 if "while" in line else 60, memory=1)
    assert report.status == 2
    assert re.search(said, report.question), report.question
    assert time.monotonic() - start < 50


def test_a_loop_in_an_object_of_this_process_is_stopped_too():
    def attend(query, keys):
        """query (d,), keys (T, d)"""
        while True:
            pass

    report = diagnose(attend, timeout=2)
    assert report.status == 2
    assert "did not end within 2 s" in report.question
    assert re.search(r"in attend at .*test_diagnose.py:\d+", report.question)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere.py:attend", "'nowhere.py' does not exist. Give a Python file before the colon."),
        ("own.py", "'own.py' names no object. Give FILE.py:NAME, one of: own.py:attend."),
        ("own.py:other", "own.py has no 'other'. It defines: attend."),
        ("bad.py:attend", "importing {here}/bad.py:2 raised ZeroDivisionError: division by zero."),
        ("exits.py:attend", "raised SystemExit: 3. Put what is not to run on import under"),
    ],
)
def test_what_cannot_be_loaded_is_one_clear_error(tmp_path, monkeypatch, target, said):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, SOUND)
    written(tmp_path, "\n1 / 0", "bad.py")
    written(tmp_path, "import sys\nsys.exit(3)", "exits.py")
    with pytest.raises(ValueError, match=re.escape(said.format(here=tmp_path))):
        diagnose(target)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"score": "cosine"}, "score='cosine' is unknown. Give one of: additive"),
        ({"layout": "time"}, "layout='time' is unknown"),
        ({"mask_true": "keep"}, "mask_true='keep' is unknown"),
        ({"convention": "vaswani"}, "convention='vaswani' is unknown"),
        ({"bind": {"asker": "query"}}, "bind has the role 'asker'"),
        ({"expected_failures": "scale"}, "is one string. Give a set of names."),
        ({"expected_failures": {"no-such"}}, "'no-such', which is no check and no fault"),
        ({"timeout": 0.0}, "timeout=0.0 is not above 0"),
    ],
)
def test_an_unknown_option_is_refused_with_what_there_is(stated, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        diagnose(np.dot, **stated)


def a_report():
    finding = Finding(
        "softmax-axis", "weights", "rule", "seen", "weights = softmax(scores, -1)",
        Certainty.CERTAIN, Place("a.py", 3, "weights = softmax(scores, 1)"), ("keys-permute",),
        "def test_x(): ...",
    )  # fmt: skip
    other = Finding("scale", "", "rule", "seen", "fix", Certainty.LIKELY)
    checks = (
        CheckResult("keys-permute", "claim", Outcome.FAILED, "moved"),
        CheckResult("empty-row", "claim", Outcome.NOT_CHECKED, "no mask"),
        CheckResult("half-agrees", "claim", Outcome.PASSED),
    )
    sizes = {"batch": 3, "query_len": 5}
    return Report("a.py:f", ("x",), (finding, other), ("a note",), checks, "", 1.5, sizes, "text")


def test_a_report_survives_json():
    told = json.loads(json.dumps(to_json(a_report())))
    assert from_json(told) == a_report()
    assert told["status"] == 1
    assert told["findings"][0]["line"] == 3
    assert told["findings"][1]["file"] is None


def test_the_text_says_place_rule_fix_and_test_in_that_order():
    text = as_text(a_report())
    found = ["a.py:3", "softmax(scores, 1)", "rule", "softmax(scores, -1)", "def test_x"]
    marks = [*found, "half-agrees", "no mask"]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_expected_failures_are_no_findings_by_check_or_by_fault():
    report = as_expected(a_report(), {"keys-permute", "scale", "half-agrees"})
    assert report.status == 0
    assert report.checks[0].outcome is Outcome.EXPECTED
    assert report.notes == ("a note", "half-agrees was expected to fail, and did not")
    assert as_expected(a_report(), {"softmax-axis"}).findings == a_report().findings[1:]


def test_assert_sound_passes_sound_code_and_says_what_is_wrong_in_the_rest():
    namespace: dict = {}
    exec(SOUND, namespace)
    assert_sound(namespace["attend"])
    exec(BROKEN, namespace)
    with pytest.raises(AssertionError, match="weights-sum-to-one"):
        assert_sound(namespace["attend"])
    assert_sound(namespace["attend"], only={"decoder-timing"})


def test_where_no_process_can_be_copied_the_report_says_so(monkeypatch):
    monkeypatch.delattr(os, "fork")
    namespace: dict = {}
    exec(SOUND, namespace)
    report = diagnose(namespace["attend"])
    assert report.status == 0
    assert "without limits" in report.notes[-1]


def test_the_prompt_has_its_front_matter():
    prompt = (Path(__file__).parents[2] / "outputs/prompt-attention-shapes.md").read_text()
    front = prompt.split("---")[1]
    for line in ("name: attention-shapes", "description: ", "phase: 5", "lesson: 10"):
        assert f"\n{line}" in front
