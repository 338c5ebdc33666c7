"""A test file for what was found: each test fails on the code as it is, and only while it is so."""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.doctor.binding.bound import BoundExamination
from regard.doctor.findings import Certainty, Finding, Outcome, Report
from regard.doctor.regression.call_writer import CannotWrite
from regard.doctor.regression.harness import Harness
from regard.doctor.regression.right_numbers import formula
from regard.doctor.regression.rule_tests import Rules
from regard.doctor.regression.written_file import function

_BY_RULE = (
    *("mask-", "empty-", "causal-", "stale-", "in-place", "dropout", "decoder-", "returned-"),
    *("query-", "key-"),
)
NUMBERS = """\
given, code = {given}, build()
assert_same(attend(given, code), expected(given, code))"""


def with_tests(report: Report, exam: BoundExamination, obj: Any, name: str) -> Report:
    """The report with a test for each finding, and the file that holds them all."""
    if not report.findings:
        return report
    if not _can_be_imported(exam, obj, name):
        told = "no tests were written: the object has no name in a file (give FILE.py:NAME)"
        return replace(report, notes=(*report.notes, told))
    try:
        return _Writer(report, exam, obj, name).report()
    except CannotWrite as why:
        return replace(report, notes=(*report.notes, f"no tests were written: {why}"))


def _can_be_imported(exam: BoundExamination, obj: Any, name: str) -> bool:
    if not exam.file:
        return False
    if ":" in name:
        return True
    module = sys.modules.get(getattr(obj, "__module__", ""), None)
    return "." not in name and getattr(module, name, None) is obj and module is not None


class _Writer:
    """Tries tests on the code as it is, and keeps those that fail."""

    def __init__(self, report: Report, exam: BoundExamination, obj: Any, name: str) -> None:
        self._report, self._exam = report, exam
        factory = inspect.isfunction(obj) and not inspect.signature(obj).parameters
        given, _, name = name.rpartition(":")  # an object may be made by code of another file
        made_in = inspect.getsourcefile(obj) if factory else exam.file
        file = str(Path(given).resolve()) if given else made_in or exam.file
        self._harness = Harness(exam, file, name, is_factory=factory)
        self._raises = exam.ask(exam.inputs()).failure is not None
        if not self._raises:
            self._harness.check()
        self._formula = None if self._raises else formula(exam, self._harness)

    def report(self) -> Report:
        """The report with tests."""
        tests: list[str] = [] if self._raises else [self._harness.shapes(self._faults)]
        findings = []
        for finding in self._report.findings:
            body = self._body(finding)
            name = finding.fault.replace("-", "_")
            taken = sum(f"def test_{name}" in test for test in tests)
            test = function(f"{name}_{taken + 1}" if taken else name, body)
            tests.append(test)
            findings.append(replace(finding, test=test))
        text = self._harness.file(tests, self._formula or "")
        return replace(self._report, findings=tuple(findings), test_file=text)

    @property
    def _faults(self) -> set[str]:
        return {finding.fault for finding in self._report.findings}

    def _body(self, finding: Finding) -> str:
        """The first candidate that fails now; the doctor's own check where none does."""
        for body in self._candidates(finding):
            if self._harness.fails(function("candidate", body), self._formula or ""):
                return body
        return self._harness.by_doctor(finding)

    def _candidates(self, finding: Finding) -> Iterator[str]:
        if self._raises:
            yield self._harness.runs()
            return
        rules = Rules(
            is_self=self._exam.binding.self_attention,
            has_value=self._exam.binding.slot("value") is not None,
            has_weights="weights" in self._exam.gives,
            has_context="context" in self._exam.gives,
            has_heads=self._harness.has_heads,
            has_mask=bool(self._exam.mask_form),
            many_queries=not self._exam.binding.loops_queries,
            convention=self._exam.convention,
            missing=self._missing(),
            has_parameters=isinstance(self._exam._attempt.made, torch.nn.Module),
            is_torch_function=self._exam.framework == "torch"
            and self._exam.subject.kind == "function",
        )
        by_rule = [body for check in finding.checks for body in rules.of(check)]
        given = ["hide(draw(), LENGTHS)"] if rules.has_mask else []
        numbers = [NUMBERS.format(given=g) for g in ("draw()", *given)] if self._formula else []
        if finding.fault.startswith(_BY_RULE) or finding.certainty is not Certainty.CERTAIN:
            yield from (*by_rule, *numbers)
        else:
            yield from (*numbers, *by_rule)
        for check in ("weights-sum-to-one", "sizes-may-coincide", "samples-independent"):
            if check not in finding.checks:
                yield from rules.of(check)

    def _missing(self) -> tuple[str, ...]:
        """Parameters of which a check said that no gradient reaches them."""
        for check in self._report.checks:
            if check.name == "gradients-reach" and check.outcome is not Outcome.PASSED:
                return tuple(check.reason.partition(" moves the result")[0].split(", "))
        return ()


def agrees(one: Any, other: Any) -> bool:
    """Whether two results are the same, None for what is not given."""
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool(
        np.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
    )
