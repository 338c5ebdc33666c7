"""Autocast chooses dtypes for its user; here they are chosen already."""

from contextlib import AbstractContextManager, nullcontext

import torch


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Where the dtypes of operations are those of their inputs."""
    if device.type != "meta" and torch.is_autocast_enabled(device.type):  # meta has none
        return torch.autocast(device.type, enabled=False)
    return nullcontext()  # to enter torch's costs microseconds
