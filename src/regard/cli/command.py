"""What every command does with what was typed: errors in the words of the command line."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

_OTHER_NAMES = {"num_workers": "--threads", "mixed_precision": "--bf16"}
_QUOTED = r"(?<!\w)'(?:[^'\\]|\\.)*'"


class Command(TyperCommand):
    """A command whose errors name its options as they are typed, and the value that was given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer's; an error says the value too, and an empty path is no path."""
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        try:
            rest = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            value = None if error.param is None else given.get(error.param.name)
            if isinstance(value, str):
                error.message = _with_fix(error.message)
                if repr(value) not in error.message:
                    error.message = f"{value!r}. {error.message}"
                error.param_hint = repr(_typed(error.param))
            raise
        for param in self.params:
            if given.get(param.name) == "" and isinstance(ctx.params[param.name], Path):
                raise typer.BadParameter(
                    "'' is an empty path. Give the name of a file or folder, '.' for the one you "
                    "are in.",
                    ctx=ctx,
                    param_hint=repr(_typed(param)),
                )
        return rest

    def invoke(self, ctx: Any) -> Any:
        """As Typer's; the library's ``epochs=0`` becomes ``--epochs 0``."""
        try:
            return super().invoke(ctx)
        except (ValueError, TypeError, FloatingPointError) as error:
            if isinstance(error, TypeError) and "Give " not in str(error):
                raise  # a fault of ours: its traceback is wanted
            kind = FloatingPointError if isinstance(error, FloatingPointError) else ValueError
            raise kind(as_typed(str(error), self.options())) from None

    def options(self) -> dict[str, str]:
        """The option of each parameter, by its name in Python."""
        own = {
            str(param.name): _typed(param) for param in self.params if param.opts[0].startswith("-")
        }
        return own | {name: o for name, o in _OTHER_NAMES.items() if o in own.values()}


def _typed(param: Any) -> str:
    """A parameter as the help calls it: ``--to``, ``MODEL_DIR``."""
    longest: str = max(param.opts, key=len)
    return longest if longest.startswith("-") else param.metavar or longest.upper()


def _with_fix(message: str) -> str:
    if message.endswith("is not readable."):
        return f"{message} Ask for the right to read it, or give another path."
    if "parse string as an integer" in message:
        return "Give a whole number."
    if "parse string as a number" in message:
        return "Give a number."
    return message


def as_typed(message: str, options: Mapping[str, str]) -> str:
    """A message about Python's arguments as one about options; what it quotes stays as it is.

    >>> as_typed("decoder='gru': give hidden_dim >= 2, or no 'decoder=x'.",
    ...          {"decoder": "--decoder", "hidden_dim": "--hidden-dim"})
    "--decoder 'gru': give --hidden-dim >= 2, or no 'decoder=x'."
    """

    def reworded(found: re.Match[str]) -> str:
        if found["name"] is None:  # quoted
            return found[0]
        option = options[found["name"]]
        match found["value"]:
            case "=False":
                return f"--no-{option.removeprefix('--')}"
            case "=":
                return f"{option} "
        return option

    names = "|".join(sorted(options, key=len, reverse=True))
    # without a value only what cannot be a word of the sentence: hidden_dim, but not decoder
    name = rf"(?P<name>(?:{names})(?==| [<>]=)|(?=\w*_)(?:{names})\b)(?P<value>=True\b|=False\b|=)?"
    return re.sub(rf"{_QUOTED}|(?<![\w./-]){name}", reworded, message)
