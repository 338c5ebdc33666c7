"""What all tests share: one hypothesis profile, one thread for torch, and a count of contracts."""

from collections.abc import Iterator
from typing import Any

import jaxtyping
import pytest
import torch
from hypothesis import settings

# a loaded machine is not a failing test, and the same code gives the same verdict
settings.register_profile("regard", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("regard")
torch.set_num_threads(1)  # operations are tiny here, and two threads would wait for each other


@pytest.fixture
def as_a_user() -> Iterator[None]:
    """Without the checks of annotations that only tests have: our own messages must do alone."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process among several hands over what it ran."""
    if hasattr(session.config, "workeroutput"):
        from tests.core.everywhere import CELLS_RUN, CHECKS_RUN, KERNELS_RAN

        session.config.workeroutput["contracts"] = (
            [list(cell) for cell in CELLS_RUN],
            dict(CHECKS_RUN),
            dict(KERNELS_RAN),
        )


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """And another collects it."""
    from tests.core.everywhere import CELLS_RUN, CHECKS_RUN, KERNELS_RAN
    from tests.core.matrix import Cell

    cells, checks, kernels = getattr(node, "workeroutput", {}).get("contracts", ([], {}, {}))
    CELLS_RUN.update(Cell(*cell) for cell in cells)
    CHECKS_RUN.update(checks)
    KERNELS_RAN.update(kernels)


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
