"""The fix of a known fault, put in place of its line, mends the code."""

import re
import tomllib
from pathlib import Path

import pytest

from regard.doctor.binding.binding import Question
from regard.doctor.binding.bound import examine
from regard.doctor.comparison.differential import differential
from regard.doctor.comparison.fixes import statement_lines
from regard.doctor.findings import Finding
from regard.doctor.load import load

CORPUS = Path(__file__).parent / "cases"
BROKEN = {
    case["id"]: case
    for case in tomllib.loads((CORPUS / "cases.toml").read_text(encoding="utf-8"))["broken"]
}
# One for each way in which a line is rewritten; the slow test takes all.
SOME = ["b14", "b36", "b58", "b60", "b105"]


def _found(file: Path, case: dict) -> tuple[Finding, ...] | None:
    exam = examine(load(file, case["object"]), **case.get("options", {}))
    return None if isinstance(exam, Question) else differential(exam).findings


def _mended(file: Path, finding: Finding, folder: Path) -> Path | None:
    """The file with the fix in place of the line; None where the fix is advice."""
    if finding.place is None or re.search(r"\w[^=(]*\.$", finding.fix) or finding.fix[0].isupper():
        return None
    lines = file.read_text(encoding="utf-8").splitlines()
    first, last = statement_lines(tuple(lines), finding.place.line)
    indent = re.match(r"\s*", lines[first - 1])
    lines[first - 1 : last] = [(indent.group(0) if indent else "") + finding.fix]
    mended = folder / file.name
    mended.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return mended


def _fault_left(name: str, folder: Path) -> bool | None:
    """Whether the fault is still named once mended; None where no line was rewritten."""
    case = BROKEN[name]
    file = CORPUS / "broken" / f"{name}.py"
    found = _found(file, case)
    mended = _mended(file, found[0], folder) if found else None
    if not found or mended is None:
        return None
    left = _found(mended, case)
    return left is None or found[0].fault in {finding.fault for finding in left}


@pytest.mark.parametrize("name", SOME)
def test_the_fix_mends_the_code(name: str, tmp_path: Path) -> None:
    assert _fault_left(name, tmp_path) is False


@pytest.mark.slow
def test_every_line_that_is_rewritten_mends_its_code(tmp_path: Path) -> None:
    told = {name: _fault_left(name, tmp_path) for name in BROKEN}
    assert [name for name, left in told.items() if left] == []
    assert sum(left is False for left in told.values()) >= 35
