"""The report for programs: one JSON object, and the report again from it."""

from dataclasses import asdict
from typing import Any

from regard.doctor.findings import Certainty, CheckResult, Finding, Outcome, Place, Report


def to_json(report: Report) -> dict[str, Any]:
    """The report in plain types. Keys are only ever added.

    - `subject`, `status` (0 sound, 1 faults found, 2 could not examine), `question` (what could not
      be told or why it could not be examined; "" otherwise), `seconds`, `sizes` (the probe's)
    - `assumed`: what was inferred of the code; `notes`: remarks that are no faults
    - `findings`: each with `fault`, `tensor`, `rule`, `seen`, `fix`, `certainty` (certain, likely,
      unexplained difference), `file`, `line` and `code` (null where no line is known), `checks`
      (the names of those that show it) and `test` (a test function, "" if there is none)
    - `checks`: each with `name`, `claim`, `outcome` (passed; failed; failed, as expected; not
      checked) and `reason`
    - `test_file`: the text of the regression tests; `file`: where the examined code is
      defined ("" if it was not examined)
    """
    return asdict(report) | {
        "status": report.status,
        "findings": [_finding(finding) for finding in report.findings],
    }


def from_json(told: dict[str, Any]) -> Report:
    """The report that `to_json` told."""
    return Report(
        **{
            **{
                name: told[name]
                for name in ("subject", "question", "seconds", "sizes", "test_file", "file")
            },
            "assumed": tuple(told["assumed"]),
            "notes": tuple(told["notes"]),
            "findings": tuple(_told_finding(finding) for finding in told["findings"]),
            "checks": tuple(
                CheckResult(**check | {"outcome": Outcome(check["outcome"])})
                for check in told["checks"]
            ),
        }
    )


def _finding(finding: Finding) -> dict[str, Any]:
    place = finding.place
    told = asdict(finding)
    del told["place"]
    return told | {
        "file": place and place.file,
        "line": place and place.line,
        "code": place and place.code,
    }


def _told_finding(told: dict[str, Any]) -> Finding:
    rest = {name: told[name] for name in told if name not in ("file", "line", "code")}
    place = None if told["file"] is None else Place(told["file"], told["line"], told["code"])
    return Finding(
        **rest
        | {
            "certainty": Certainty(told["certainty"]),
            "checks": tuple(told["checks"]),
            "place": place,
        }
    )
