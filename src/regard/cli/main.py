"""``regard``: the commands together, and how their errors end."""

import errno
import inspect
import io
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, TextIO

import typer

from regard import __version__
from regard.cli.align import align
from regard.cli.bottleneck import bottleneck
from regard.cli.command import Command
from regard.cli.doctor import doctor
from regard.cli.evaluate import evaluate
from regard.cli.explain import explain
from regard.cli.kernels import kernels
from regard.cli.predict import predict
from regard.cli.scaling import scaling
from regard.cli.train import train

HELP = """Attention that can be built, run, used and trusted.

Train a model on pairs of strings, predict with it, and look at what it attends to:

  regard train cmudict --to model --minutes 3
  echo attention | regard predict model
  regard align model attention

Test what its weights may be taken as evidence for:

  regard explain model test.tsv

See what attention is for, and what the square root of d is for:

  regard bottleneck --quick
  regard scaling --quick

Find out what is wrong in your own attention code, which this runs:

  regard doctor attention.py:attend

'regard COMMAND --help' explains a command, with examples."""


def _help(function: Callable[..., None]) -> str:
    """A command's docstring for a terminal of any width: only what is indented keeps its lines."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(p if p.startswith(" ") else p.replace("\n", " ") for p in paragraphs)


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="regard",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_tell_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


for command in (train, predict, evaluate, align, explain, bottleneck, scaling, kernels, doctor):
    app.command(cls=Command, help=_help(command))(command)


def main() -> None:
    """Run the command line. Bad input ends with one clear error and a non-zero status.

    Typer sees to the rest: Ctrl-C ends with 130, and a reader of our output that is gone, as with
    ``| head``, ends us without a word.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # whatever the locale; file names as they are
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note
            app()
    except (ValueError, OSError, FloatingPointError, ModuleNotFoundError) as error:
        _end(_worded(error))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise  # a fault of ours: its traceback is wanted
        _end("out of memory. Choose smaller sizes: of the model, of --batch-size, or of the data.")


_FIXES = {
    errno.ENOENT: "Check the path.",
    errno.ENOTDIR: "A part of the path is a file. Check the path.",
    errno.EISDIR: "Give a file, not a folder.",
    errno.EACCES: "Ask for the right to use it, or give another path.",
    errno.EROFS: "Give another path.",
    errno.ENOSPC: "Make room, or write elsewhere.",
}


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"note: {message}", file=sys.stderr)


def _end(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(1)


def _worded(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and "pip install" not in str(error):
        return f"{error}. Install what this command needs: pip install 'regard[all]'."
    if isinstance(error, OSError) and error.strerror:
        place = error.filename2 or error.filename  # of a rename, where to
        fix = _FIXES.get(error.errno or 0, "Check that it is there and may be used.")
        return f"{place or 'the output'}: {error.strerror}. {fix}"
    return str(error)
