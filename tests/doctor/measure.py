"""What the doctor says of a corpus: `python -m tests.doctor.measure FOLDER`.

FOLDER holds broken, fixed and correct code and what is known of it (cases.toml). Two cases run at
a time, each in a process of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from regard.doctor import Report, diagnose

# Runs the tests of files, each as a module of its own, and prints the names of those that fail.
_RUNNER = """
import importlib.util, json, sys, warnings
told = []
for number, path in enumerate(sys.argv[1:]):
    failed = {}
    try:
        spec = importlib.util.spec_from_file_location(f"written_{number}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        tests = {n: f for n, f in vars(module).items() if n.startswith("test_")}
    except Exception as error:
        tests, failed = {}, {"the file": repr(error)}
    for name, test in tests.items():
        try:
            test()
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"[:300]
    told.append([list(tests), failed])
print("told", json.dumps(told))
"""


@dataclass(frozen=True)
class Case:
    """One implementation and what became of it."""

    known: dict
    report: Report
    tests: tuple[str, ...] = ()
    failed_broken: dict[str, str] = field(default_factory=dict)
    failed_fixed: dict[str, str] = field(default_factory=dict)

    @property
    def detected(self) -> bool:
        return self.report.status == 1

    @property
    def right_class(self) -> bool:
        return self.detected and self.report.findings[0].fault in self.known["fault"]

    @property
    def right_tensor(self) -> bool:
        if not self.detected:
            return False
        first = self.report.findings[0]
        line = first.place.line if first.place else 0
        return first.tensor in self.known["tensor"] or line in self.known["line"]

    @property
    def tests_hold(self) -> bool:
        """Every finding's test fails on the broken code, and the whole file passes once fixed."""
        own = [name for name in self.tests if name != "test_shapes_and_sums"]
        return bool(own) and all(n in self.failed_broken for n in own) and not self.failed_fixed


def measure(folder: Path, *, processes: int = 2, only: set[str] = frozenset()) -> tuple[list, list]:
    """The cases of broken and of correct code."""
    known = tomllib.loads((folder / "cases.toml").read_text(encoding="utf-8"))
    chosen = {
        kind: [c for c in known.get(kind, []) if not only or c["id"] in only]
        for kind in ("broken", "correct")
    }
    with ThreadPoolExecutor(processes) as pool:
        broken = list(pool.map(lambda case: _broken(folder, case), chosen["broken"]))
        correct = list(pool.map(lambda case: _correct(folder, case), chosen["correct"]))
    return broken, correct


def _report(target: str, case: dict) -> Report:
    try:
        return diagnose(target, **case.get("options", {}))
    except ValueError as error:  # an option or a file that the doctor refuses
        return Report(target, question=str(error))


def _correct(folder: Path, case: dict) -> Case:
    target = f"{folder / 'correct' / case['id']}.py:{case['object']}"
    return Case(case, _report(target, case))


def _broken(folder: Path, case: dict) -> Case:
    file = (folder / "broken" / f"{case['id']}.py").resolve()
    report = _report(f"{file}:{case['object']}", case)
    if not report.test_file:
        return Case(case, report)
    fixed = folder.resolve() / "fixed" / file.name
    with tempfile.TemporaryDirectory() as place:
        paths = [Path(place) / "test_broken.py", Path(place) / "test_fixed.py"]
        for path, own in zip(paths, (file, fixed), strict=True):
            path.write_text(report.test_file.replace(str(file), str(own)), encoding="utf-8")
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _RUNNER, *map(str, paths)],
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            check=False,
        )
    told = [line for line in ran.stdout.splitlines() if line.startswith("told ")]
    if not told:
        return Case(case, report, failed_fixed={"the run": ran.stderr[-300:]})
    (names, broken), (_, right) = json.loads(told[-1].removeprefix("told "))
    return Case(case, report, tuple(names), broken, right)


def table(broken: list[Case], correct: list[Case]) -> str:
    """A line for each case that did not go right, and the rates."""
    lines = []
    for case in broken:
        findings = case.report.findings
        said = f"{findings[0].fault} at {findings[0].tensor}" if findings else case.report.question
        if findings and findings[0].place:
            said += f":{findings[0].place.line}"
        wrong = [
            name
            for name, right in (
                ("missed", case.detected),
                ("class", case.right_class or not case.detected),
                ("tensor", case.right_tensor or not case.detected),
                ("test", case.tests_hold or not case.detected),
            )
            if not right
        ]
        if wrong:
            known = case.known
            lines.append(
                f"{known['id']:5} {','.join(wrong):20} {'/'.join(known['fault'])} at "
                f"{'/'.join(known['tensor'])}:{known['line']}  said: {said or 'sound'}"
            )
            if "test" in wrong:
                missing = [n for n in case.tests if n not in case.failed_broken]
                notes = [n for n in case.report.notes if "tests" in n]
                lines.append(
                    f"      tests that pass on the broken code: {missing}; fail on the fixed: "
                    f"{case.failed_fixed}; {notes}"
                )
    for case in correct:
        if case.report.status:
            findings = [(f.fault, f.tensor, f.seen) for f in case.report.findings]
            what = "false alarm " if findings else "not examined"
            lines.append(f"{case.known['id']:5} {what}  {findings or case.report.question}")
    seconds = sorted(case.report.seconds for case in (*broken, *correct))
    right = sum(case.right_class and case.right_tensor for case in broken)
    rates = [
        ("detected", sum(case.detected for case in broken), len(broken)),
        ("right class", sum(case.right_class for case in broken), len(broken)),
        ("right class and tensor", right, len(broken)),
        ("tests fail before, pass after", sum(case.tests_hold for case in broken), len(broken)),
        ("false alarms", sum(case.report.status == 1 for case in correct), len(correct)),
        ("not examined", sum(c.report.status == 2 for c in (*broken, *correct)), len(seconds)),
    ]
    lines += [f"{name:30} {count:4} of {total}" for name, count, total in rates]
    if seconds:
        middle, most = seconds[len(seconds) // 2], seconds[-1]
        lines.append(f"seconds a case: median {middle:.1f}, most {most:.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    found = measure(Path(sys.argv[1]), only=set(sys.argv[2:]))
    print(table(*found))
