"""``regard doctor``: what is wrong in an attention implementation, and how to put it right."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from regard.cli.command import Command, as_typed
from regard.core.files import write_atomically
from regard.doctor.diagnose import diagnose
from regard.doctor.findings import Report
from regard.doctor.load import split_target
from regard.doctor.options import Options
from regard.doctor.regression.written_file import placed
from regard.doctor.report.as_json import to_json
from regard.doctor.report.terminal import rendered
from regard.doctor.watch import Limits


def doctor(
    ctx: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py:NAME", help="A function, class, module or factory.", show_default=False
        ),
    ],
    bind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=NAME",
            help="Which parameter plays a role, as in query=hidden. May be repeated. Roles: query, "
            "key, value, mask, lengths, causal, token, cell, feed, parameter.",
        ),
    ] = None,
    score: Annotated[
        str | None, typer.Option(help="additive, concat, dot, general, scaled_dot or other.")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="What the scores are to be multiplied with."),
    ] = None,
    layout: Annotated[str | None, typer.Option(help="batch_first or length_first.")] = None,
    mask_true: Annotated[
        str | None, typer.Option(help="What True in its mask does: attends or hides.")
    ] = None,
    convention: Annotated[
        str | None,
        typer.Option(help="bahdanau (queries with the state before the step) or luong (after it)."),
    ] = None,
    expect_failure: Annotated[
        list[str] | None,
        typer.Option(metavar="CHECK", help="A check or fault that is accepted. May be repeated."),
    ] = None,
    write_tests: Annotated[
        Path | None,
        typer.Option(help="Write tests that fail now and pass once fixed to this file."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite that file.")] = False,
    timeout: Annotated[
        str, typer.Option(metavar="NUMBER", help="Seconds that the code may take.")
    ] = "60",
    memory: Annotated[
        str, typer.Option(metavar="NUMBER", help="GiB of memory that the code may use.")
    ] = "4",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what is wrong in an attention implementation, where, and how to put it right.

    This runs the code that it is given: in a process of its own, with a limit of time and memory,
    but with all your rights. Do not give it code that you would not run.

    What the parameters mean is inferred from names, comments and trial calls, and printed; where
    it cannot be told, the doctor asks for one of the options. For each fault it prints the tensor
    or operation with its line, the rule in symbols and numbers, a fix, and a test.

    Examples:

      regard doctor attention.py:BahdanauAttention
      regard doctor model.py:attend --bind query=hidden --mask-true hides
      regard doctor model.py:attend --write-tests test_attend.py

    Ends with 0 if the code is sound, 1 if it has faults, 2 if it could not be examined.

    With --json: subject, status, question, seconds, sizes, assumed, notes, file, test_file;
    findings, each with fault, tensor, file, line, code, rule, seen, fix, certainty, checks, test;
    and checks, each with name, claim, outcome, reason. An error is such an object too, with status
    2 and what is wrong as its question.
    """
    words = {"score": score, "layout": layout, "mask_true": mask_true, "convention": convention}
    numbers = {"scale": scale, "timeout": timeout, "memory": memory}
    try:
        file, _ = split_target(target)
        stated: dict[str, Any] = words | {n: _number(n, text) for n, text in numbers.items()}
        stated |= {"bind": _pairs(bind or []), "expected_failures": set(expect_failure or [])}
        if write_tests is not None:
            _check_writable(write_tests, force, file)
        report = _examine(target, stated, quiet=as_json)
        if write_tests is not None:
            _refuse_source(write_tests, report.file)  # it may be imported from there
    except ValueError as error:
        options = ctx.command.options() if isinstance(ctx.command, Command) else {}
        said = as_typed(str(error), options | {"expected_failures": "--expect-failure"})
        said = f"doctor: {said.removeprefix('diagnose: ').removeprefix('doctor: ')}"
        if as_json:
            typer.echo(json.dumps(to_json(Report(target, question=said)), ensure_ascii=False))
        else:
            typer.echo(f"error: {said}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps(to_json(report), ensure_ascii=False))
    else:
        Console().print(rendered(report), highlight=False, soft_wrap=False)
    if write_tests is not None:
        if report.test_file:
            write_atomically(write_tests, placed(report.test_file, write_tests).encode())
            typer.echo(f"tests written to {write_tests}", err=True)
        else:
            typer.echo(f"no test to write, so there is no {write_tests}", err=True)
    raise typer.Exit(report.status)


def _examine(target: str, stated: dict[str, Any], *, quiet: bool) -> Report:
    """The report; what is going on is said unless quiet. Nothing runs before all is checked."""
    limits = Limits(stated["timeout"], stated["memory"])
    Options(**{name: stated[name] for name in stated if name not in ("timeout", "memory")})
    if not quiet:
        typer.echo(
            f"regard doctor runs the code it is given: {target}, in a process of its own "
            f"({limits})."
        )
    console = Console(stderr=True)
    waiting = console.status(f"examining {target}") if console.is_terminal else nullcontext()
    with waiting:
        return diagnose(target, **stated)


def _number(name: str, text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} is not a number. Give one, as in 0.5.") from None


def _pairs(bind: list[str]) -> dict[str, str]:
    """Names by role."""
    found: dict[str, str] = {}
    for text in bind:
        role, name = _pair(text)
        if role in found:
            raise ValueError(
                f"--bind {text!r} is the second for {role}, after {role}={found[role]}. "
                "Give each role once."
            )
        found[role] = name
    return found


def _pair(text: str) -> tuple[str, str]:
    role, equals, name = text.partition("=")
    if not equals or not role or not name:
        raise ValueError(f"--bind {text!r} is not a pair. Give ROLE=NAME, as in query=hidden.")
    return role, name


def _check_writable(path: Path, force: bool, source: Path) -> None:
    _refuse_source(path, source)
    if path.exists() and not (force and path.is_file()):
        what = "is a folder" if path.is_dir() else "exists"
        fix = "Give another name" if path.is_dir() else "Give another name, or --force"
        raise ValueError(f"--write-tests {str(path)!r} {what}. {fix}.")
    if not path.parent.is_dir():
        raise ValueError(
            f"--write-tests {str(path)!r} is to be in a folder that does not exist. Make it first."
        )


def _refuse_source(path: Path, source: str | Path) -> None:
    """By any name, and whatever was forced."""
    if path.is_file() and Path(source).is_file() and path.samefile(source):
        raise ValueError(
            f"--write-tests {str(path)!r} is the examined code, which it would overwrite. "
            "Give another name."
        )
