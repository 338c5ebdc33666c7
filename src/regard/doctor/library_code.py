"""Modules of torch itself: told by their public name, since nobody mends a line in torch."""

from dataclasses import replace
from pathlib import Path

import torch

from regard.doctor.explains import ADVICE
from regard.doctor.findings import Certainty, Finding

# What the one who calls such a module can do.
_FIXES = {
    "empty-row": "Where a row hides every key, show it one (mask & ~mask.all(-1, keepdim=True)) "
    "and set its results to 0",
    "returned-weights": "Read the weights of a call in eval(), not those of training",
}
_OURS = {
    "torch.nn.MultiheadAttention": "regard.layers.MultiHeadAttention.from_torch(module), "
    "which has neither fault",
}


def library_name(file: str, name: str) -> str:
    """`torch.nn.MultiheadAttention` for a class in one of torch's own files, "" for other code."""
    home = Path(torch.__file__).parent
    if not file or home not in Path(file).parents:
        return ""
    return f"torch.nn.{name}" if hasattr(torch.nn, name) else f"torch's {name}"


def as_library_code(finding: Finding, file: str, name: str) -> Finding:
    """The finding as the caller of a module of torch can use it; others as they are."""
    library = library_name(file, name)
    if not library:
        return finding
    fix, sure = ADVICE.get(finding.fault, finding.fix), finding.certainty
    if finding.fault in _FIXES:
        ours = f", or use {_OURS[library]}" if library in _OURS else ""
        fix, sure = f"{_FIXES[finding.fault]}{ours}.", Certainty.CERTAIN
    tensor = f"{library} (library code)"
    return replace(finding, tensor=tensor, place=None, fix=fix, certainty=sure)
