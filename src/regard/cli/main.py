"""``regard``: the commands together, and how their errors end."""

import os
import sys

import typer

from regard.cli.align import align
from regard.cli.evaluate import evaluate
from regard.cli.kernels import kernels
from regard.cli.predict import predict
from regard.cli.train import train

app = typer.Typer(
    name="regard",
    help="Attention that can be built, run, used and trusted.\n\n"
    "Train a model on pairs of strings, predict with it, and look at what it attends to:\n\n"
    "  regard train cmudict --to model --minutes 3\n\n"
    "  echo attention | regard predict model\n\n"
    "  regard align model attention",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for command in (train, predict, evaluate, align, kernels):
    app.command()(command)


def main() -> None:
    """Run the command line. Bad input ends with one clear error and a non-zero status."""
    try:
        app()
    except BrokenPipeError:  # the reader of our output is gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ValueError, OSError, FloatingPointError, ModuleNotFoundError) as error:
        print(f"error: {_worded(error)}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


def _worded(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"{error}. Install what this command needs: pip install 'regard[all]'."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)
