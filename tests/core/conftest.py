"""Shared by the tests of the core."""

from collections.abc import Iterator

import jaxtyping
import pytest

pytest.register_assert_rewrite(
    "tests.core.checks_of_answers", "tests.core.checks_of_conduct", "tests.core.setting"
)


@pytest.fixture
def as_a_user() -> Iterator[None]:
    """Without the checks of annotations that only tests have: our own messages must do alone."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line on what was run of the matrix of contracts, and in what time."""
    from tests.core.everywhere import CELLS_RUN, CHECKS_RUN, KERNELS_RAN  # torch, only if needed

    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if "core/test_contracts.py" in report.nodeid
    ]
    if reports:
        kernels = ", ".join(f"{name} {times}" for name, times in sorted(KERNELS_RAN.items()))
        terminalreporter.write_line(
            f"contracts: {CHECKS_RUN.total()} checks in {len(CELLS_RUN)} cells of the matrix "
            f"({kernels}), {sum(report.duration for report in reports):.0f} s"
        )
