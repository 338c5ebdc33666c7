"""Files that are there whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves either the old content or the new, never a part."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.")
    except OSError as error:  # says the temporary name, which nobody gave
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)  # mkstemp makes files private
        Path(temporary).replace(path)
    except BaseException as error:
        if isinstance(error, OSError) and error.strerror and error.filename is None:
            error.filename = str(path)  # a full disk does not say where
        Path(temporary).unlink(missing_ok=True)
        raise
