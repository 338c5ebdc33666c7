"""Waits for the process of the examined code, and ends it where it goes too far."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GIB = 1 << 30
ASK_WHERE = getattr(signal, "SIGUSR1", None)
"""At this signal the process writes where it is; None where there are no such signals."""


@dataclass(frozen=True)
class Limits:
    """What the examined code may use: seconds of time, and GiB of memory that it touches."""

    seconds: float | int = 60.0
    memory: float | int = 4.0

    def __post_init__(self) -> None:
        for name, given in (("timeout", self.seconds), ("memory", self.memory)):
            if not given > 0:
                raise ValueError(f"diagnose: {name}={given} is not above 0. Give a larger number.")

    def __str__(self) -> str:
        return f"at most {self.seconds:g} s and {self.memory:g} GiB"


class Stopped(RuntimeError):
    """The process gave no answer; the text says how it ended, and where it was."""


@dataclass(frozen=True)
class Watched:
    """A process: how to ask for its exit status, the folder where it answers, the code's file.

    `shared` are bytes that it holds together with its parent.
    """

    pid: int
    poll: Callable[[], int | None]
    exchange: Path
    file: str
    shared: int = 0


def wait_for(process: Watched, limits: Limits) -> dict[str, Any]:
    """The answer, once the process has ended by itself.

    Raises:
        Stopped: it gave none, or went too far and was ended.
    """
    deadline = time.monotonic() + limits.seconds
    why = ""
    status = None
    try:
        while not why and (status := process.poll()) is None:
            if time.monotonic() > deadline:
                why = (
                    f"it did not end within {limits.seconds:g} s and was stopped{{where}}. "
                    "Look for an endless loop, or give it more time (timeout)."
                )
            elif resident(process.pid) - process.shared > limits.memory * GIB:
                why = (
                    f"it took more than {limits.memory:g} GiB of memory and was stopped{{where}}. "
                    "The probe's tensors are tiny: look for one that grows, or allow more (memory)."
                )
            time.sleep(0.02)
    finally:
        if status is None:
            _end(process)
    told = process.exchange / "answer.json"
    if not why and told.exists():
        return dict(json.loads(told.read_text(encoding="utf-8")))
    said = (process.exchange / "said.txt").read_text(encoding="utf-8", errors="replace")
    why = (why or _ended(status or 0)).format(where=_where(said, process.file))
    raise Stopped(why + _last_words(said))


def _end(process: Watched) -> None:
    """Ask it where it is, and end it with whatever it has started."""
    if ASK_WHERE is not None:
        _signal(process.pid, ASK_WHERE)
        time.sleep(0.2)
    if sys.platform != "win32":
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            _signal(process.pid, signal.SIGKILL)
    else:
        _signal(process.pid, signal.SIGTERM)
    while process.poll() is None:
        time.sleep(0.01)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _ended(status: int) -> str:
    if status >= 0:
        return f"the code ended the process by itself, with status {status}{{where}}."
    name = signal.Signals(-status).name
    kinds = {"SIGSEGV": "a crash of compiled code", "SIGKILL": "as a system does when memory ends"}
    kind = f", {kinds[name]}" if name in kinds else ""
    return f"the process died of {name}{kind}{{where}}."


def _where(said: str, file: str) -> str:
    """The innermost line of the examined file in the last stack that was written."""
    stacks = re.split(r"most recent call first\):?", said)
    if len(stacks) < 2:
        return ""
    frames = re.findall(r'File "([^"]+)", line (\d+) in (\S+)', stacks[-1])
    for path, line, function in frames:
        if file and os.path.realpath(path) == os.path.realpath(file):
            return f", in {function} at {path}:{line}"
    return ""


def _last_words(said: str) -> str:
    """The last line that was written before any stack, which often is the reason."""
    before = re.split(r"(?m)^(?:Fatal Python error|Current thread|Thread 0x|Stack)", said)[0]
    lines = [line for line in before.splitlines() if line.strip()]
    return f" Its last words: {lines[-1].strip()[:200]}" if lines else ""


def resident(pid: int) -> int:
    """Bytes of memory in use by the process; 0 where that cannot be read."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        pass
    if os.name == "nt" or Path("/proc").exists():
        return 0
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True)
    return int(found.stdout.strip() or 0) * 1024
