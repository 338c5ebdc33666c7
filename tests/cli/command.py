"""Run the command line, in this process or in one of its own, and see what came of it."""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from typing import NamedTuple
from unittest import mock

from regard.cli import main

TINY = ("--hidden-dim", "8", "--embed-dim", "4")
"""Sizes with which an epoch takes a fraction of a second."""


class Ran(NamedTuple):
    """How a command ended: its exit status, and what it wrote."""

    status: int
    out: str
    err: str


def run(*arguments, stdin=b""):
    """`regard ARGUMENTS` in this process, through `main` and with its error handling.

    With `stdin=None` its standard input is closed.
    """
    written = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    status = 0
    with tempfile.TemporaryFile() as file:  # a real file: predict reads its descriptor
        file.write(stdin or b"")
        file.seek(0)
        with (
            mock.patch.object(sys, "argv", ["regard", *map(str, arguments)]),
            mock.patch.object(sys, "stdin", None if stdin is None else file),
            contextlib.redirect_stdout(written[0]),
            contextlib.redirect_stderr(written[1]),
        ):
            try:
                main()
            except SystemExit as end:
                status = end.code or 0
    return Ran(status, *(stream.buffer.getvalue().decode() for stream in written))


def start(*arguments, stdout=subprocess.PIPE, **environment):
    """`python -m regard ARGUMENTS`, its three streams as pipes of bytes if no other is given."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=inherited | {"OMP_NUM_THREADS": "1"} | environment,
        # where the tests run in the background, a shell has them ignore it, and so their children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    watchdog = threading.Timer(120, process.kill)  # so that waiting in vain is a failure
    watchdog.daemon = True
    watchdog.start()
    return process


def finish(process, stdin=b""):
    """Give a process the rest of its input and see how it ends."""
    out, err = process.communicate(stdin, timeout=120)
    return Ran(process.returncode, out.decode(), err.decode())


def error_of(ran, status=1):
    """The text of the one error a command ended with; nothing else may have been written."""
    assert (ran.status, ran.out) == (status, ""), ran
    assert ran.err.startswith("error: "), ran
    assert ran.err.count("\n") == 1, ran
    assert ran.err.endswith((".\n", "'\n")), ran  # a sentence, or what to type
    return ran.err.removeprefix("error: ").removesuffix("\n")


def usage_error_of(ran):
    """What a command said of options it cannot read, without the frame around it."""
    assert (ran.status, ran.out) == (2, ""), ran
    return plain(ran.err)


def plain(text):
    """The words alone: no colour, no frame, one blank between words."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[─│╭╮╰╯]", " ", text).split())
