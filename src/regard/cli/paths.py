"""Where a command is to write."""

from pathlib import Path


def check_no_file(to: Path) -> Path:
    """The folder, or the first above it that is there.

    Raises:
        ValueError: that is a file.
    """
    existing = next(path for path in (to, *to.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise ValueError(f"--to {to}: {existing} is a file, not a folder. Choose another --to.")
    return existing
