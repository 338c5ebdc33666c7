"""`assert_sound`: the doctor in a test suite."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from regard.doctor.diagnose import diagnose
from regard.doctor.findings import Report
from regard.doctor.report.terminal import as_text


def assert_sound(
    obj: Any,
    *,
    expected_failures: Collection[str] = (),
    only: Collection[str] = (),
    **stated: Any,
) -> None:
    """Nothing, if `regard.diagnose(obj, ...)` finds no fault; its report as an error otherwise.

    `expected_failures` are names of checks or faults that are known and accepted, `only` those that
    are asked about, all of them if there are none; the other arguments are those of
    `regard.diagnose`.

    Raises:
        AssertionError: a fault was found, or the code could not be examined.

    Example:
        >>> import torch
        >>> from regard.doctor import assert_sound
        >>> def attend(query, key, value):
        ...     '''Dot-product attention over (batch, length, dim).'''
        ...     return torch.softmax(query @ key.mT, dim=1) @ value  # over the queries
        >>> assert_sound(attend)
        Traceback (most recent call last):
            ...
        AssertionError: attend: 1 fault ...
    """
    __tracebackhide__ = True
    report = diagnose(obj, expected_failures=expected_failures, **stated)
    if only:
        report = _about(report, set(only))
    if report.status:
        raise AssertionError(as_text(report))


def _about(report: Report, names: set[str]) -> Report:
    findings = (f for f in report.findings if f.fault in names or names & set(f.checks))
    return replace(report, findings=tuple(findings))
