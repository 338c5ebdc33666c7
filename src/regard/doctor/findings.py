"""What the doctor says: findings, checks with their outcomes, and the report that holds both."""

from dataclasses import dataclass, field
from enum import StrEnum


class Certainty(StrEnum):
    """How sure a finding is.

    `CERTAIN`: the numbers equal those of a known fault on random input, or the fault was seen
    happening (a caller's tensor changed, an error was raised). `LIKELY`: the rule is broken, and
    the cause named is the one that usually breaks it. `UNEXPLAINED`: the numbers are not right
    and no known fault gives them.
    """

    CERTAIN = "certain"
    LIKELY = "likely"
    UNEXPLAINED = "unexplained difference"


@dataclass(frozen=True)
class Place:
    """A line of the examined code."""

    file: str
    line: int
    code: str


@dataclass(frozen=True)
class Finding:
    """One fault: where, what the rule is, the fix, how sure.

    `fault` is a stable name (`softmax-axis`, `mask-polarity`, ...), `tensor` the variable or
    operation at fault as the code writes it, `rule` what holds in symbols and in the probe's
    numbers, `seen` what was measured, `fix` a replacement for the line (or, where no line is
    known, one line of advice), `checks` the names of the checks that show it, `test` a test
    function that fails now and passes once fixed.
    """

    fault: str
    tensor: str
    rule: str
    seen: str
    fix: str
    certainty: Certainty
    place: Place | None = None
    checks: tuple[str, ...] = ()
    test: str = ""


class Outcome(StrEnum):
    """What became of one check."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED = "failed, as expected"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class CheckResult:
    """One check by name, with the sentence that it proves and why it failed or was not made."""

    name: str
    claim: str
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True)
class Report:
    """The whole answer. `status` is 0 (sound), 1 (faults found) or 2 (could not examine).

    `question` says what could not be told, or why the code could not be examined. `test_file` is a
    test file with the tests of all findings, `file` where the examined code is defined.
    """

    subject: str
    assumed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    question: str = ""
    seconds: float = 0.0
    sizes: dict[str, int] = field(default_factory=dict)
    test_file: str = ""
    file: str = ""

    @property
    def status(self) -> int:
        if self.question:
            return 2
        return 1 if self.findings else 0
