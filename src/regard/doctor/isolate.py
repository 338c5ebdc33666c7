"""Examined code runs in a process of its own, which may take only so long and so much memory."""

import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from regard.doctor.watch import ASK_WHERE, Limits, Watched, resident, wait_for


def can_fork() -> bool:
    """Whether an object of this process can be examined in a copy of it.

    Not where the system has no fork or its own libraries do not survive one (macOS), nor once CUDA
    has started here.
    """
    torch = sys.modules.get("torch")
    started = torch is not None and torch.cuda.is_initialized()
    return hasattr(os, "fork") and sys.platform != "darwin" and not started


def run_worker(request: dict[str, Any], limits: Limits, file: str) -> dict[str, Any]:
    """`python -m regard.doctor.worker` on a request; its answer.

    Raises:
        Stopped: it gave none.
    """
    with tempfile.TemporaryDirectory(prefix="regard-doctor-") as folder:
        exchange = Path(folder)
        (exchange / "request.json").write_text(json.dumps(request), encoding="utf-8")
        with (exchange / "said.txt").open("wb") as said:
            process = subprocess.Popen(
                # -P: a file named like one of Python's own, in this folder, is not imported
                [sys.executable, "-P", "-m", "regard.doctor.worker", folder],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=_environment(),
            )
        return wait_for(Watched(process.pid, process.poll, exchange, file), limits)


def run_forked(work: Callable[[], dict[str, Any]], limits: Limits, file: str) -> dict[str, Any]:
    """`work()` in a copy of this process; its answer.

    Raises:
        Stopped: it gave none.
    """
    with tempfile.TemporaryDirectory(prefix="regard-doctor-") as folder:
        exchange = Path(folder)
        (exchange / "said.txt").touch()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            child = os.fork()
        if child == 0:
            _be_the_child(work, exchange)

        def poll() -> int | None:
            ended, status = os.waitpid(child, os.WNOHANG)
            return os.waitstatus_to_exitcode(status) if ended else None

        return wait_for(Watched(child, poll, exchange, file, resident(os.getpid())), limits)


def answer(exchange: Path, told: dict[str, Any]) -> None:
    """Leave the answer of a process where the other looks for it, whole or not at all."""
    half = exchange / "answer.half"
    half.write_text(json.dumps(told), encoding="utf-8")
    half.replace(exchange / "answer.json")


def tell_where_when_asked() -> None:
    """From now on this process writes its stack if it crashes or is about to be stopped."""
    faulthandler.enable(2)
    if ASK_WHERE is not None:
        faulthandler.register(ASK_WHERE, 2)


def _be_the_child(work: Callable[[], dict[str, Any]], exchange: Path) -> NoReturn:
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        said = os.open(exchange / "said.txt", os.O_WRONLY | os.O_APPEND)
        for source, target in ((nothing, 0), (said, 1), (said, 2)):
            os.dup2(source, target)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        tell_where_when_asked()
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)  # the parent's threads are not copied
        answer(exchange, work())
    finally:
        os._exit(0)  # nothing of the parent's is to run at exit


def _environment() -> dict[str, str]:
    here = str(Path(__file__).parents[2])  # where this regard is imported from
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), here)))
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
