"""Masks in torch.compile and torch.export, whole graphs only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.compiled_masks import CASES

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_masks_compile_in_one_graph(case: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.core.compiled_masks", case],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
