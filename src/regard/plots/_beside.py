"""Files that appear whole or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; what was written there is then renamed to `path`.

    After an error there is no new file, and the one that was there stays as it was.
    """
    beside = _beside(path)
    try:
        with _named(path):
            yield beside
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.stem[:80]}.{secrets.token_hex(4)}{path.suffix}")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors name the path that was given, not a temporary one that is gone."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def as_path(path: object, caller: str) -> Path:
    """Refuse what is no path."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"{caller}: path is {path!r:.40}, {type(path).__name__}. It is a string or a "
            "pathlib.Path. Pass the name of a file."
        )
    return Path(path)


def check_place(path: Path, caller: str) -> None:
    """Refuse a path at which no file can be made, before there is one.

    Raises:
        ValueError: its directory does not exist, or something is there that is no file.
        IsADirectoryError: it is a directory.
        OSError: nothing can be written there.
    """
    if not path.parent.is_dir():
        raise ValueError(
            f"{caller}: {str(path)!r} is to be in the directory {str(path.parent)!r}, which does "
            "not exist. Directories are not made here. Make it first, or choose another."
        )
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():  # a pipe or a device would be replaced
        raise ValueError(
            f"{caller}: {str(path)!r} is a device or a pipe. A regular file is written. Choose "
            "another name."
        )
    with _named(path):
        beside = _beside(path)
        beside.touch(exist_ok=False)  # rights alone do not say it: a file system may be read-only
        beside.unlink()
