"""Every entry of the collection of known faults is a test, or says why it is none.

Tests named `test_fault_NN_...` speak for themselves; here are the others. The collection itself may
be absent, and is then not compared with.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLLECTION = ROOT.parent / "shared" / "cases" / "faults.md"
BY_NAME = ("tests/core/test_known_faults.py", "tests/layers/test_known_faults.py")

ELSEWHERE: dict[int, tuple[str, str]] = {
    14: ("tests/layers/test_encoder.py", "test_a_length_that_cannot_be_names_the_sample"),
    39: (
        "tests/layers/test_encoder.py",
        "test_final_states_are_joined_per_sample_and_per_layer",
    ),
    79: ("tests/layers/test_encoder.py", "test_any_source_length_is_encoded"),
    80: (
        "tests/layers/test_decoders.py",
        "test_perturbing_the_current_token_moves_luongs_weights_and_not_bahdanaus",
    ),
    82: ("tests/layers/test_encoder.py", "test_padding_never_touches_a_state"),
    91: ("tests/core/compiled.py", "any_length_without_a_graph_break"),
    92: ("tests/core/compiled.py", "exported_for_any_size"),
}

NOT_HERE: dict[int, str] = {
    15: "no penalty on coverage is computed anywhere yet",
}


def by_name() -> set[int]:
    text = "".join((ROOT / path).read_text() for path in BY_NAME)
    return {int(number) for number in re.findall(r"^def test_fault_(\d+)_", text, re.MULTILINE)}


def test_every_entry_is_a_test_or_says_why_not() -> None:
    if not COLLECTION.exists():
        pytest.skip(f"the collection of known faults is not here: {COLLECTION}")
    entries = re.findall(r"^(\d+)\. \*\*[SL]", COLLECTION.read_text(), re.MULTILINE)
    assert {int(number) for number in entries} == by_name() | set(ELSEWHERE) | set(NOT_HERE)


def test_no_entry_is_in_two_places() -> None:
    for one, other in ((by_name(), ELSEWHERE), (by_name(), NOT_HERE), (ELSEWHERE, NOT_HERE)):
        assert not set(one) & set(other)


@pytest.mark.parametrize("number", ELSEWHERE)
def test_the_test_elsewhere_exists(number: int) -> None:
    path, name = ELSEWHERE[number]
    assert f"def {name}(" in (ROOT / path).read_text()
