"""torch.compile and torch.export of the dot family's kernels, whole graphs only."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.dot_compiled import CASES

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_dot_family_compiles(case: str) -> None:
    if case == "with_compiler" and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("torch.compile needs a C++ compiler (g++ or clang++), and there is none here")
    run = subprocess.run(
        [sys.executable, "-m", "tests.kernels.dot_compiled", case],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
