"""Run what is compiled in a process of its own, where no annotation is checked."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_in_own_process(module: str, case: str) -> None:
    """``python -m tests.MODULE CASE`` must end well."""
    if case == "with_compiler" and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("torch.compile needs a C++ compiler (g++ or clang++), and there is none here")
    run = subprocess.run(
        [sys.executable, "-m", f"tests.{module}", case],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
