"""torch.compile and torch.export of attention layers, whole graphs only."""

import pytest

from tests.layers.multi_head_compiled import CASES
from tests.own_process import run_in_own_process


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_layers_compile_in_one_graph(case: str) -> None:
    run_in_own_process("layers.multi_head_compiled", case)
