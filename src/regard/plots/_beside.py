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
    beside = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        if error.filename is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # not a name that is gone
    finally:
        beside.unlink(missing_ok=True)


def check_place(path: Path, caller: str) -> None:
    """Refuse a path at which no file can be made, before there is one.

    Raises:
        ValueError: its directory does not exist.
        IsADirectoryError: it is a directory.
    """
    if not path.parent.is_dir():
        raise ValueError(
            f"{caller}: {str(path)!r} is to be in the directory {str(path.parent)!r}, which does "
            "not exist. Directories are not made here. Make it first, or choose another."
        )
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
