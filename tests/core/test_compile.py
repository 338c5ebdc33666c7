"""torch.compile and torch.export, whole graphs only. (Of the known faults: 91 and 92.)"""

import pytest

from tests.core.compiled import CASES
from tests.own_process import run_in_own_process


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_attend_compiles_in_one_graph(case: str) -> None:
    run_in_own_process("core.compiled", case)
