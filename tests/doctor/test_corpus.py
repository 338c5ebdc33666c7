"""What the doctor says of code as people write it: faults found, rightly named, no false alarms."""

from pathlib import Path

import pytest

from tests.doctor.measure import measure, table

WITHOUT_A_TEST_THAT_HOLDS = {"cases": ["b92", "b99", "b101"], "second_cases": []}
"""Found and named, but no test is written, or it fails on the fixed code as well."""


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["cases", "second_cases"])
def test_faults_are_found_and_rightly_named_and_sound_code_raises_no_alarm(folder: str) -> None:
    """In one test, because the cases take minutes: 95 % found, 90 % named by class and tensor."""
    broken, correct = measure(Path(__file__).parent / folder)
    print(table(broken, correct))
    assert sum(case.detected for case in broken) >= 0.95 * len(broken)
    assert sum(case.right_class and case.right_tensor for case in broken) >= 0.9 * len(broken)
    assert [case.known["id"] for case in correct if case.report.status] == []
    wrong = [case.known["id"] for case in broken if case.detected and not case.tests_hold]
    # what is written fails on the broken code and passes on the fixed
    assert wrong == WITHOUT_A_TEST_THAT_HOLDS[folder]
