"""`FILE.py:NAME`: the object of that name in that file, imported from where the file lies."""

import ast
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any


class CannotLoad(ValueError):
    """There is no such file or name, or importing the file failed."""


def split_target(target: str) -> tuple[Path, str]:
    """The file and the name of `FILE.py:NAME`.

    Raises:
        CannotLoad: it is not written so, or there is no such Python file.
    """
    before, colon, name = target.rpartition(":")
    if not colon or not before or not name or "/" in name or "\\" in name:
        file = Path(target.rstrip(":"))
        known = _names(file)
        hint = (
            f"one of: {', '.join(f'{file}:{n}' for n in known)}" if known else "attention.py:attend"
        )
        raise CannotLoad(f"doctor: {target!r} names no object. Give FILE.py:NAME, {hint}.")
    file = Path(before)
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise CannotLoad(f"doctor: {before!r} {what}. Give a Python file before the colon.")
    if file.suffix != ".py":
        raise CannotLoad(f"doctor: {before!r} is not a Python file. Give one that ends in .py.")
    return file, name


def load(file: Path, name: str) -> Any:
    """The object. A dotted name is looked up part by part.

    Raises:
        CannotLoad: the file cannot be imported, or has no such name.
    """
    found: Any = import_file(file)
    for part in name.split("."):
        if not hasattr(found, part):
            known = ", ".join(_names(file)) or "nothing"
            raise CannotLoad(f"doctor: {file} has no {name!r}. It defines: {known}.")
        found = getattr(found, part)
    return found


def import_file(file: Path) -> ModuleType:
    """The file as a module, within its package if it lies in one, so that it finds the rest."""
    file = file.resolve()
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").exists():
        root, parts = root.parent, [root.name, *parts]
    sys.path.insert(0, str(root))
    try:
        if len(parts) > 1:
            return importlib.import_module(".".join(parts))
        spec = importlib.util.spec_from_file_location(f"examined_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    except (Exception, SystemExit) as error:
        raise CannotLoad(_import_error(file, error)) from None


def _import_error(file: Path, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    line = next((f.lineno for f in reversed(frames) if f.filename == str(file)), None)
    if isinstance(error, SyntaxError) and error.filename == str(file):
        line = error.lineno
    where = f"{file}:{line}" if line else str(file)
    said = f"{type(error).__name__}: {getattr(error, 'msg', None) or error}".rstrip(": ")
    fix = "Make the file importable"
    if isinstance(error, ModuleNotFoundError):
        fix = "Install it in this environment, or run from where it is found"
    elif isinstance(error, SystemExit | EOFError):
        fix = 'Put what is not to run on import under `if __name__ == "__main__":`'
    return f"doctor: importing {where} raised {said}. {fix}."


def _names(file: Path) -> list[str]:
    """What the file defines at its top level, without running it."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [n.name for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")]
