"""Everything a run needs to go on as if it had never stopped, in one safetensors file.

One file, written under a temporary name, synced and renamed, so that a killed run finds either the
checkpoint before or the one after. No pickle.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from regard.core.files import write_atomically
from regard.models import ModelFolderError
from regard.models.folder import UNFINISHED


class Position(NamedTuple):
    """Where a run stands."""

    epoch: int = 0
    batch: int = 0
    """Batches of this epoch already trained on."""
    updates: int = 0
    pairs: int = 0
    seconds: float = 0.0
    best: tuple[int, int] | None = None
    """Word errors and token errors of the best evaluation."""
    best_updates: int = 0
    evaluations_since_best: int = 0
    evaluated_updates: int = 0
    """Updates at the last evaluation."""


def path_in(model_folder: Path) -> Path:
    """Where a model folder keeps its checkpoint while it is being trained."""
    return model_folder / UNFINISHED


def check_there(path: Path) -> None:
    """Refuse to resume where nothing was interrupted.

    Raises:
        ModelFolderError: there is no checkpoint.
    """
    if (path.parent / "model.safetensors").exists() and not path.exists():
        raise ModelFolderError(
            f"the training in {path.parent} is finished: it left a model and nothing to resume. "
            "Use that model, or train another with --overwrite, or in another folder, in place of "
            "--resume."
        )
    if not path.is_file():
        raise ModelFolderError(
            f"{path} does not exist: there is no unfinished training to resume in {path.parent}. "
            "Leave out --resume to start one."
        )


def write(
    path: Path,
    *,
    position: Position,
    run: dict[str, Any],
    modules: dict[str, nn.Module],
    optimizer: torch.optim.Optimizer,
    generators: Tensor,
) -> None:
    """Write modules, optimizer, the state of the dropout's generators, and where the run stands.

    ``run`` describes the run (options, config, data); :func:`read` refuses another run's file.
    """
    tensors = {
        f"module.{name}.{key}": tensor.contiguous()
        for name, module in modules.items()
        for key, tensor in module.state_dict().items()
    }
    for index, slots in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": slot.contiguous() for key, slot in slots.items()}
    tensors["generators"] = generators
    copies = {name: tensor.clone() for name, tensor in tensors.items()}  # safetensors: no aliases
    described = {"position": json.dumps(position._asdict()), "run": json.dumps(run)}
    write_atomically(path, save(copies, metadata=described))


def read(
    path: Path,
    *,
    run: dict[str, Any],
    modules: dict[str, nn.Module],
    optimizer: torch.optim.Optimizer,
) -> tuple[Position, Tensor]:
    """Put everything back in place; return where the run stands, and the generators' state.

    Raises:
        ModelFolderError: there is no checkpoint, it is damaged, or another run wrote it.
    """
    check_there(path)
    try:
        with safe_open(path, "pt") as file:
            described = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        position = Position(**json.loads(described["position"]))
        saved_run = json.loads(described["run"])
        generators = tensors["generators"]
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ModelFolderError(
            f"{path} is damaged or no checkpoint: {error}. Start again with --overwrite in place "
            "of --resume."
        ) from None
    _check_same_run(path, saved_run, run)
    for name, module in modules.items():
        module.load_state_dict(_below(tensors, f"module.{name}."))
    state = optimizer.state_dict()
    for name, tensor in _below(tensors, "optimizer.").items():
        index, key = name.split(".", 1)
        state["state"].setdefault(int(index), {})[key] = tensor
    optimizer.load_state_dict(state)
    if position.best is not None:  # JSON has made a list of it
        words, tokens = position.best
        position = position._replace(best=(words, tokens))
    return position, generators


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): tensor for k, tensor in tensors.items() if k.startswith(prefix)}


def _check_same_run(path: Path, saved: dict[str, Any], run: dict[str, Any]) -> None:
    differing = sorted(
        f"{key} was {saved.get(key)!r}, now {run.get(key)!r}"
        for key in saved.keys() | run.keys()
        if saved.get(key) != run.get(key)
    )
    if differing:
        raise ModelFolderError(
            f"{path} belongs to a run with other settings: {'; '.join(differing)}. Resume with the "
            "same data and settings, or start again with --overwrite in place of --resume."
        )
