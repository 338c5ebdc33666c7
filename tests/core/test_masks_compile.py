"""Masks in torch.compile and torch.export, whole graphs only."""

import pytest

from tests.core.compiled_masks import CASES
from tests.own_process import run_in_own_process


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_masks_compile_in_one_graph(case: str) -> None:
    run_in_own_process("core.compiled_masks", case)
