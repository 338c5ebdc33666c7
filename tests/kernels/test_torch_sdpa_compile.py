"""torch.compile and torch.export of the dot family's kernels, whole graphs only."""

import pytest

from tests.kernels.dot_compiled import CASES
from tests.own_process import run_in_own_process


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_dot_family_compiles(case: str) -> None:
    run_in_own_process("kernels.dot_compiled", case)
