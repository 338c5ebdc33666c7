"""additive_cpu in threads, forked children, little memory, without a cache and without numba."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard import attend, scores
from regard.core.attend import attend_reference
from regard.kernels import Request, choose
from regard.kernels.additive_cpu import ADDITIVE_CPU, regions
from tests.cli.command import run
from tests.kernels.additive_processes import answer
from tests.own_process import ROOT, run_in_own_process

LARGE = (2, 99, 64)
REQUEST = Request(LARGE, LARGE, LARGE, torch.float32, "cpu", "Additive", None)


def test_eight_threads_at_once_are_answered_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(regions, "SCRATCH", 5000)
    seeds = [seed % 3 for seed in range(32)]
    right = [answer(seed, length=60) for seed in range(3)]

    def in_a_thread(seed: int) -> torch.Tensor:
        torch.set_num_threads(2)
        return answer(seed, length=60)

    with ThreadPoolExecutor(8) as pool:
        for seed, found in zip(seeds, pool.map(in_a_thread, seeds), strict=True):
            assert_close(found, right[seed], rtol=1e-4, atol=1e-5)


def test_as_many_threads_work_as_torch_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(regions, "WORTH_A_THREAD", 1)
    pool = regions._pool
    monkeypatch.setattr(regions, "_pool", lambda number: asked.append(number) or pool(number))
    before = torch.get_num_threads()
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            answer(0, length=40)
    finally:
        torch.set_num_threads(before)
    assert set(asked) == {2, 3}  # one needs no pool


@pytest.mark.slow
@pytest.mark.parametrize("case", ["forked", "loaded", "outlived"])
def test_children_and_threads_that_outlive_the_main_one_work(case: str) -> None:
    run_in_own_process("kernels.additive_processes", case)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["small_forward", "small_backward", "known_fault_94"])
def test_memory_stays_small(case: str) -> None:
    run_in_own_process("kernels.additive_processes", case)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """Not by root either: every folder that numba would make is below a file."""
    package = tmp_path / "src" / "regard"
    shutil.copytree(
        ROOT / "src" / "regard", package, ignore=shutil.ignore_patterns("__pycache__", "*.nb?")
    )
    (package / "kernels" / "additive_cpu" / "__pycache__").write_text("no folder")
    nowhere = str(package / "py.typed" / "below a file")
    for cache_dir in ({}, {"NUMBA_CACHE_DIR": nowhere}):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "tests.kernels.additive_processes", "uncached"],
            cwd=ROOT,
            env=os.environ
            | {"PYTHONPATH": str(tmp_path / "src"), "HOME": nowhere, "XDG_CACHE_HOME": nowhere}
            | cache_dir,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]


def test_without_numba_it_says_so_and_another_kernel_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert choose(REQUEST) is ADDITIVE_CPU
    monkeypatch.setitem(sys.modules, "numba", None)  # as if it were not installed
    (reason,) = ADDITIVE_CPU.refusals(REQUEST)
    assert reason == "numba is not installed: pip install 'regard[kernels]'"
    assert choose(REQUEST) is not ADDITIVE_CPU

    score = scores.Additive(query_dim=4, key_dim=4, attn_dim=3)
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    right = attend_reference(query, key, key, score=score).context
    assert_close(attend(query, key, key, score=score).context, right)

    told = json.loads(run("kernels", "--score", "additive", "--json").out)["kernels"]
    (row,) = [row for row in told if row["kernel"] == "additive_cpu"]
    assert row["refusals"] == [reason]
    assert "numba is not installed" in run("kernels", "--score", "additive").out
