"""What was given to examine: its call, its source, its framework, and what it says of itself."""

import ast
import dis
import inspect
import io
import re
import tokenize
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch

from regard.doctor.binding.own_part import own_part

_METHODS = ("forward", "call", "__call__", "attend", "attention", "step")


@dataclass(frozen=True)
class Subject:
    """A callable, or a class that builds one, with everything that can be read about it.

    `docs` are its docstrings and comments, which may state conventions, `sayings` the docstrings
    alone, `code` the source without either. `method` is what is called on an instance, "" for a
    function.
    """

    name: str
    target: Any
    kind: str  # "function", "instance" or "class"
    method: str
    framework: str
    file: str
    source: tuple[str, ...]
    docs: str
    sayings: str
    code: str
    init: Mapping[str, inspect.Parameter]
    call: Mapping[str, inspect.Parameter]


class CannotRead(ValueError):
    """The object cannot be examined at all; the text says why."""


def read_subject(obj: Any) -> Subject:
    """Read an attention implementation; a factory without arguments is called for one.

    Raises:
        CannotRead: it is no callable, or has no method that takes the tensors.
    """
    if _is_factory(obj):
        made = _made(obj)
        if not callable(made):
            raise CannotRead(
                f"{_name(obj)} takes no arguments and returned {type(made).__name__}. A factory "
                "returns the function or module to examine. Return that."
            )
        obj = made
    kind = "class" if inspect.isclass(obj) else "function" if _is_function(obj) else "instance"
    owner = obj if kind == "class" else type(obj)
    method = "" if kind == "function" else _method(owner)
    function = inspect.unwrap(obj) if kind == "function" else getattr(owner, method)
    home = function if kind == "function" else owner
    inherited = kind != "function" and method not in vars(owner)
    file, source = _file(function if inherited else home)
    if not source and kind != "function":  # a class of a file that was loaded by hand
        file, source = _file(function)
    text = _source(home) or _class_text(home, source)
    said = [_docstring(home)]
    if kind != "function":
        said += [_docstring(vars(owner).get("__init__")), _docstring(_defined(owner, method))]
    docs = [_above(home, source), *said, _comments(text)]
    code = _without_docs(text)
    return Subject(
        name=_name(obj),
        target=obj,
        kind=kind,
        method=method,
        framework=_framework(function, owner if kind != "function" else None, obj),
        file=file,
        source=own_part(source, getattr(home, "__name__", "")),
        docs="\n".join(dict.fromkeys(part for part in docs if part)),
        sayings="\n".join(said),
        code=code,
        init=_parameters(owner.__init__) if kind == "class" else {},
        call=_parameters(function, bound=kind != "function"),
    )


def _made(factory: Callable[[], Any]) -> Any:
    try:
        return factory()
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise CannotRead(
            f"{_name(factory)} takes no arguments, so it was called for the code to examine, and "
            f"raised {said} ({last.filename}:{last.lineno}: {last.line}). Mend that, or give "
            "the function or module itself."
        ) from None


def _is_function(obj: Any) -> bool:
    return inspect.isroutine(obj) or hasattr(obj, "__wrapped__")


def _is_factory(obj: Any) -> bool:
    return inspect.isfunction(obj) and not inspect.signature(obj).parameters


def _method(owner: type) -> str:
    for name in _METHODS:
        found = getattr(owner, name, None)
        own = found is not None and found is not getattr(torch.nn.Module, name, None)
        if own and inspect.isfunction(found) and _parameters(found):
            return name
    raise CannotRead(
        f"{owner.__name__} has no method that takes the tensors. It is called by forward, call, "
        "__call__, attend or step. Give the function itself, or name the method so."
    )


def _name(obj: Any) -> str:
    return str(getattr(obj, "__name__", type(obj).__name__))


def _parameters(function: Any, bound: bool = True) -> dict[str, inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.items())
    except (TypeError, ValueError):
        return _written_signature(function)
    first = 1 if bound and parameters and parameters[0][0] in ("self", "cls") else 0
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: p for name, p in parameters[first:] if p.kind not in kinds}


def _written_signature(function: Any) -> dict[str, inspect.Parameter]:
    """A built-in's parameters, from the call that its docstring starts with."""
    found = re.search(r"\w+\((\w[^()]*)\)", (getattr(function, "__doc__", None) or "")[:400])
    parameters = {}
    for part in found.group(1).split(",") if found else []:
        name, _, default = (piece.strip() for piece in part.partition("="))
        if name.isidentifier():
            value = {"None": None, "True": True, "False": False}.get(default, default)
            given = value if default else inspect.Parameter.empty
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters[name] = inspect.Parameter(name, kind, default=given)
    return parameters


def _file(home: Any) -> tuple[str, tuple[str, ...]]:
    try:
        file = inspect.getsourcefile(home) or ""
        lines = inspect.findsource(home)[0]
    except (OSError, TypeError):
        return "", ()
    return file, tuple(line.rstrip("\n") for line in lines)


def _source(home: Any) -> str:
    try:
        return inspect.cleandoc("\n" + inspect.getsource(home))
    except (OSError, TypeError):
        return ""


def _class_text(home: Any, source: tuple[str, ...]) -> str:
    """A class's own lines, found by its name in the file."""
    try:
        tree = ast.parse("\n".join(source))
    except SyntaxError:
        return ""
    name = getattr(home, "__name__", "")
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return inspect.cleandoc("\n" + "\n".join(source[node.lineno - 1 : node.end_lineno]))
    return ""


def _above(home: Any, source: tuple[str, ...]) -> str:
    """Comments that stand right above the definition."""
    try:
        first = inspect.getsourcelines(home)[1] - 1
    except (OSError, TypeError):
        return ""
    lines: list[str] = []
    while first > 0 and source[first - 1].lstrip().startswith("#"):
        first -= 1
        lines.insert(0, source[first].lstrip("# "))
    return "\n".join(lines)


def _defined(owner: type, method: str) -> Any:
    """The method where the code's own classes define it, never one of torch's Module."""
    homes = (c for c in owner.__mro__ if c not in (torch.nn.Module, object))
    return next((vars(c)[method] for c in homes if method in vars(c)), None)


def _docstring(home: Any) -> str:
    """Its own, never one that is inherited."""
    return inspect.cleandoc(getattr(home, "__doc__", None) or "") if home is not None else ""


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    try:
        return list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return []


def _comments(text: str) -> str:
    """The comments, each after the name that its line assigns to or declares, if any."""
    lines = []
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            before = token.line[: token.start[1]]
            name = re.match(r"\s*(?:self\.)?(\w+)\s*(?:=(?!=)|:|,\s*$)", before)
            lines.append(f"{name.group(1) + ': ' if name else ''}{token.string.lstrip('# ')}")
    return "\n".join(lines)


def _without_docs(text: str) -> str:
    rows = text.splitlines()
    for token in reversed(_tokens(text)):
        alone = token.line.strip().startswith(("'", '"', "r'", 'r"'))
        if token.type == tokenize.COMMENT:
            row = token.start[0] - 1
            rows[row] = rows[row][: token.start[1]]
        elif token.type == tokenize.STRING and alone:
            for row in range(token.start[0] - 1, token.end[0]):
                rows[row] = ""
    return "\n".join(rows)


def _framework(function: Callable[..., Any], owner: type | None, obj: Any) -> str:
    if owner is not None and issubclass(owner, torch.nn.Module):
        return "torch"
    methods = vars(owner).values() if owner is not None else ()
    used = _modules([function, *(m for m in methods if inspect.isfunction(m))])
    if "torch" in used:
        return "torch"
    if "numpy" in used:
        return "numpy"
    spelled = str(getattr(function, "__annotations__", "")) + _source(function)
    if re.search(r"torch|Tensor|softmax\(-?\d|unsqueeze|\.size\(", spelled):
        return "torch"
    everywhere = str(list(getattr(function, "__globals__", {}).values()))
    return "torch" if "'torch'" in everywhere or "numpy" not in everywhere else "numpy"


def _modules(functions: list[Any]) -> set[str]:
    """The packages whose names these functions use, through helpers of the same file too."""
    seen: set[Any] = set()
    packages: set[str] = set()
    while functions:
        function = functions.pop()
        code = getattr(function, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        for name in _global_names(code):
            found = function.__globals__.get(name)
            home = getattr(found, "__module__", None) or getattr(found, "__name__", "")
            packages.add(str(home).split(".")[0])
            if inspect.isfunction(found) and found.__globals__ is function.__globals__:
                functions.append(found)
    return packages


def _global_names(code: CodeType) -> set[str]:
    names = {
        str(i.argval)
        for i in dis.get_instructions(code)
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _global_names(constant)
    return names
