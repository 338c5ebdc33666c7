"""Run a check through `regard.attend`, then through every other kernel that takes such a call.

Kernels come from the dispatch's own list: a new one is covered by being there.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from regard import attend
from regard.core.attend import Attended
from regard.kernels import Kernel, Request, dispatch
from regard.kernels.reference import REFERENCE
from tests.core.checks import CHECKS
from tests.core.matrix import Cell
from tests.core.setting import Attend, Setting

# What ran, for the line at the end of the tests.
CELLS_RUN: set[Cell] = set()
CHECKS_RUN: Counter[str] = Counter()
KERNELS_RAN: Counter[str] = Counter()


def check_everywhere(name: str, setting: Setting) -> None:
    """The check of this name with attend as it is, then with each other kernel."""
    everywhere(name, lambda attend: CHECKS[name].run(attend, setting), setting.cell)


def everywhere(name: str, run: Callable[[Attend], None], cell: Cell) -> None:
    """Run what calls attend again and again, until every kernel took each call that it can take."""
    requests: set[Request] = set()

    def listening(*args: Any, **options: Any) -> Attended:
        with _heard(requests):
            return attend(*args, **options)

    run(listening)
    chosen = {request: dispatch.choose(request).name for request in requests}
    ran = set(chosen.values())
    for kernel in dispatch.KERNELS:
        could = replace(kernel, does_not_pay=lambda request: [])
        if any(chosen[r] != kernel.name and not could.refusals(r) for r in requests):
            with only(kernel):
                run(attend)
            ran.add(kernel.name)
    CELLS_RUN.add(cell)
    CHECKS_RUN[name] += 1
    KERNELS_RAN.update(ran)


@contextmanager
def only(kernel: Kernel) -> Iterator[None]:
    """This kernel alone, whether it pays or not, and the reference for what it refuses."""
    with pytest.MonkeyPatch.context() as patch:
        willing = replace(kernel, does_not_pay=lambda request: [])
        patch.setattr(dispatch, "KERNELS", (willing, REFERENCE))
        yield


@contextmanager
def _heard(requests: set[Request]) -> Iterator[None]:
    choose = dispatch.choose

    def choose_and_tell(request: Request) -> Kernel:
        requests.add(request)
        return choose(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "choose", choose_and_tell)
        yield
