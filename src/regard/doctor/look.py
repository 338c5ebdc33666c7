"""Examines in this process: bind, check, compare, and tell."""

import re
import time
import traceback
from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from regard.doctor.binding.binding import Question
from regard.doctor.binding.bound import examine
from regard.doctor.binding.subject import CannotRead
from regard.doctor.diagnosis import diagnose_examination
from regard.doctor.examination import Examination
from regard.doctor.findings import CheckResult, Finding, Outcome, Report
from regard.doctor.library_code import as_library_code
from regard.doctor.memory import ran_out
from regard.doctor.options import Options
from regard.doctor.regression.regression_tests import with_tests


def look(obj: Any, options: Options, subject: str) -> Report:
    """The report on an object that is at hand; `subject` is what it is called there."""
    start = time.perf_counter()
    try:
        report = _report(obj, options, subject)
    except CannotRead as error:
        report = Report(subject, question=str(error))
    except Exception as error:
        report = Report(subject, question=_own_fault(error))
    return replace(report, seconds=round(time.perf_counter() - start, 3))


def _report(obj: Any, options: Options, subject: str) -> Report:
    exam = examine(obj, **options.stated())
    if isinstance(exam, Question):
        return Report(subject, question=exam.text)
    failure = exam.ask(exam.inputs()).failure
    if failure is not None and ran_out(failure.said):
        where = f"at line {failure.line} ({failure.code.strip()})"
        return Report(subject, question=f"{exam.name} raised {where}: {failure.said}")
    if not _attends(exam):
        return Report(subject, question=_NO_ATTENTION)
    findings, notes, checks = diagnose_examination(exam)
    report = Report(
        subject,
        assumed=exam.assumed,
        findings=tuple(as_library_code(one, exam.file, exam.name) for one in findings),
        notes=tuple(dict.fromkeys(notes)),
        checks=checks,
        sizes=asdict(exam.sizes),
        file=exam.file,
    )
    report = as_expected(report, options.expected_failures)
    return with_tests(report, exam, obj, subject)


_NO_ATTENTION = (
    "no attention is seen: it gives no weights, and nothing in it is a softmax or an exponential. "
    "Give the function or module that scores, normalizes and averages; a layer that holds one is "
    "examined through it."
)
_NORMALIZING = re.compile(r"softmax|exp2?$|logsumexp|pow|sparsemax|entmax|sigmoid|attention")


def _attends(exam: Examination) -> bool:
    """Whether anything is normalized. What raises is examined for that."""
    if "weights" in exam.gives:
        return True
    answer = exam.ask(exam.inputs(), trace=True)
    ops = {event.op for event in answer.trace.events}
    return answer.failure is not None or not ops or any(map(_NORMALIZING.search, ops))


def as_expected(report: Report, expected: Collection[str]) -> Report:
    """The report in which declared failures are none: by the name of a check or of a fault."""
    if not expected:
        return report

    def declared(finding: Finding) -> bool:
        by_checks = bool(finding.checks) and set(finding.checks) <= set(expected)
        return by_checks or finding.fault in expected

    known = [finding for finding in report.findings if declared(finding)]
    names = {name for finding in known for name in finding.checks} | set(expected)

    def outcome(check: CheckResult) -> CheckResult:
        failed = check.outcome is Outcome.FAILED and check.name in names
        return replace(check, outcome=Outcome.EXPECTED) if failed else check

    checks = tuple(outcome(check) for check in report.checks)
    failed = {check.name for check in checks if check.outcome is Outcome.EXPECTED}
    accepted = tuple(_accepted(f) for f in known if f.fault in expected and f.fault not in failed)
    failed |= {finding.fault for finding in known}
    surprises = tuple(
        f"{name} was expected to fail, and did not" for name in sorted(set(expected) - failed)
    )
    left = tuple(finding for finding in report.findings if not declared(finding))
    return replace(
        report, findings=left, checks=(*checks, *accepted), notes=(*report.notes, *surprises)
    )


def _accepted(finding: Finding) -> CheckResult:
    """A fault that is declared, which no check may have shown."""
    place = finding.place
    where = "" if place is None else f" ({place.file}:{place.line})"
    return CheckResult(finding.fault, finding.rule, Outcome.EXPECTED, f"{finding.seen}{where}")


def _own_fault(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"the doctor itself failed on this code, with {type(error).__name__}: {error} "
        f"({Path(last.filename).name}:{last.lineno}). That is a fault of the doctor: please "
        "report it, with the code."
    )
