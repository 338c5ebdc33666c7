"""What the doctor says of code as people write it: faults found, rightly named, no false alarms."""

import tomllib
from pathlib import Path

import pytest

from tests.doctor.measure import measure, table

HERE = Path(__file__).parent


def third(folder: str) -> set[str]:
    """Every third case; `python -m tests.doctor.measure tests/doctor/cases` takes all."""
    known = tomllib.loads((HERE / folder / "cases.toml").read_text(encoding="utf-8"))
    return {case["id"] for kind in known.values() for case in kind if int(case["id"][1:]) % 3 == 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "only"),
    [("cases", third("cases")), ("second_cases", frozenset())],
    ids=["cases", "second_cases"],
)
def test_faults_are_found_and_rightly_named_and_sound_code_raises_no_alarm(
    folder: str, only: set[str]
) -> None:
    """In one test, because the cases take minutes: 95 % found, 90 % named by class and tensor."""
    broken, correct = measure(HERE / folder, only=only)
    print(table(broken, correct))
    assert sum(case.detected for case in broken) >= 0.95 * len(broken)
    assert sum(case.right_class and case.right_tensor for case in broken) >= 0.9 * len(broken)
    assert [case.known["id"] for case in correct if case.report.status] == []
    # what is written fails on the broken code and passes on the fixed
    assert [case.known["id"] for case in broken if case.detected and not case.tests_hold] == []
