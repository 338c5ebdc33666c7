"""Autocast chooses dtypes for its user; a kernel has chosen its own."""

from contextlib import AbstractContextManager, nullcontext

import torch


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Where the dtypes of operations are those of their inputs."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()  # to enter torch's costs microseconds
