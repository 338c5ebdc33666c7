"""torch.compile and torch.export of attention layers, whole graphs only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.layers.multi_head_compiled import CASES

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_layers_compile_in_one_graph(case: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.layers.multi_head_compiled", case],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
