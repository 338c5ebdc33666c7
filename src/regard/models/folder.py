"""A model's folder on disk: ``config.json``, ``tokenizer.json``, ``model.safetensors``.

No pickle is read or written. Each file is written under a temporary name, synced, and renamed.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor

from regard.core.files import write_atomically

FORMAT = "regard.seq2seq.v1"
FILES = ("config.json", "tokenizer.json", "model.safetensors")


UNFINISHED = "training.safetensors"
"""Where an interrupted training waits to be resumed."""


class ModelFolderError(ValueError):
    """The folder is missing, damaged, or not a model of this library."""


class Saved(NamedTuple):
    """What a folder holds."""

    config: dict[str, Any]
    training: dict[str, Any]
    """How it was trained, as far as the weights do not tell; nothing in folders from before."""
    tokenizers: dict[str, Any]
    weights: dict[str, Tensor]


def save(
    path: str | PathLike[str],
    *,
    config: Mapping[str, Any],
    training: Mapping[str, Any],
    tokenizers: Mapping[str, Any],
    weights: Mapping[str, Tensor],
) -> None:
    """Write the three files; ``training`` goes into ``config.json``."""
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    contents = (
        _json({"format": FORMAT, **config, "training": training}),
        _json(tokenizers),
        tensors_to_bytes({name: tensor.contiguous() for name, tensor in weights.items()}),
    )
    for name, content in zip(FILES, contents, strict=True):
        write_atomically(path / name, content)


def load(path: str | PathLike[str]) -> Saved:
    """Read the three files.

    Raises:
        ModelFolderError: one is missing or cannot be read as what it should be.
    """
    path = _checked(path)
    if not path.is_dir():
        what = "is a file, not a folder" if path.exists() else "does not exist"
        raise ModelFolderError(
            f"model folder {path} {what}. Give the folder that 'regard train ... --to' wrote."
        )
    try:
        names = os.listdir(path)
    except OSError as error:
        raise ModelFolderError(_unreadable(path, error)) from None
    if missing := [name for name in FILES if name not in names]:
        if UNFINISHED in names:
            raise ModelFolderError(
                f"model folder {path} holds an interrupted training that kept no model yet. Go on "
                f"with it: regard train ... --to {path} --resume."
            )
        raise ModelFolderError(
            f"model folder {path} has no {' and no '.join(missing)}. A model is a folder with "
            f"{', '.join(FILES)}. Give the folder that 'regard train ... --to' wrote."
        )
    for name in FILES:
        if (path / name).exists() and not (path / name).is_file():  # reading a pipe would wait
            raise ModelFolderError(
                f"model folder {path}: {name} is not a regular file. A model is a folder with the "
                f"files {', '.join(FILES)}. Give the folder that 'regard train ... --to' wrote."
            )
    with errors_as_damage(path):
        config, tokenizers = (_json_object(path / name) for name in FILES[:2])
        if config.pop("format", None) != FORMAT:
            raise ValueError(
                f"config.json does not say format {FORMAT!r}: another program's model."
            )
        training = config.pop("training", {})
        if not isinstance(training, dict):
            raise ValueError(
                f"config.json says training {training!r:.40}, which is no JSON object."
            )
        weights = tensors_from_bytes((path / FILES[2]).read_bytes())
    return Saved(config, training, tokenizers, weights)


@contextmanager
def errors_as_damage(path: str | PathLike[str]) -> Iterator[None]:
    """Say of any fault in a folder's contents which folder it is, and what to do."""
    try:
        yield
    except OSError as error:
        raise ModelFolderError(_unreadable(Path(path), error)) from None
    except (ValueError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise ModelFolderError(
            f"model folder {path} cannot be used: {reason}. "
            "Its files are damaged or not a model of regard. Train it again, or restore a copy."
        ) from None


def _checked(path: object) -> Path:
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"model folder {path!r} is a {type(path).__name__}. It must be a path, as a string or "
            "a pathlib.Path. Give the folder that 'regard train ... --to' wrote."
        )
    if str(path) == "":
        raise ModelFolderError(
            "model folder '' is an empty path. Give the folder that 'regard train ... --to' wrote, "
            "'.' for the one you are in."
        )
    return Path(path)


def _unreadable(path: Path, error: OSError) -> str:
    return (
        f"model folder {path} cannot be read: {error.filename or path}: {error.strerror}. "
        "A model's folder and its files must be readable. Ask its owner, or give another."
    )


def _json(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode()


def _json_object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not JSON ({error}).") from None
    except RecursionError:
        raise ValueError(f"{path.name} is not JSON that we wrote: too deeply nested.") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path.name} holds {type(data).__name__}, not a JSON object.")
    return data
