"""What ``--to``, ``--resume`` and ``--overwrite`` may mean together."""

import os
from pathlib import Path

from regard.cli.paths import check_no_file
from regard.training.checkpoint import check_there, path_in


def check_folder(to: Path, resume: bool, overwrite: bool) -> None:
    """A new folder, or one that holds what ``--resume`` or ``--overwrite`` is for.

    Raises:
        ValueError: another one, or one that cannot be written.
    """
    if resume and overwrite:
        raise ValueError(
            "--resume and --overwrite: one goes on with what is in MODEL_DIR, the other starts "
            "again. Choose one."
        )
    existing = check_no_file(to)
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(f"--to {to}: nothing can be written to {existing}. Choose another --to.")
    if resume:
        check_there(path_in(to))
    if resume or overwrite:
        return
    if path_in(to).exists():
        raise ValueError(
            f"--to {to} holds an interrupted training. Go on with --resume, or start again with "
            "--overwrite, or choose another --to."
        )
    if (to / "model.safetensors").exists():
        raise ValueError(
            f"--to {to} already holds a model. Replace it with --overwrite, or choose another --to."
        )
