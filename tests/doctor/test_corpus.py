"""What the doctor says of code as people write it: faults found, rightly named, no false alarms."""

from pathlib import Path

import pytest

from tests.doctor.measure import measure, table

CASES = Path(__file__).parent / "cases"


@pytest.fixture(scope="module")
def found():
    broken, correct = measure(CASES)
    print(table(broken, correct))
    return broken, correct


@pytest.mark.slow
def test_95_percent_of_the_faults_are_found(found):
    broken, _ = found
    assert sum(case.detected for case in broken) >= 0.95 * len(broken)


@pytest.mark.slow
def test_90_percent_are_named_with_class_and_tensor(found):
    broken, _ = found
    assert sum(case.right_class and case.right_tensor for case in broken) >= 0.9 * len(broken)


@pytest.mark.slow
def test_sound_code_in_any_style_raises_no_alarm(found):
    _, correct = found
    assert [case.known["id"] for case in correct if case.report.status] == []


@pytest.mark.slow
def test_what_is_written_fails_on_the_broken_code_and_passes_on_the_fixed(found):
    broken, _ = found
    wrong = [case.known["id"] for case in broken if case.detected and not case.tests_hold]
    assert wrong == []


@pytest.mark.slow
def test_a_case_takes_less_than_five_seconds(found):
    assert max(case.report.seconds for cases in found for case in cases) < 5
