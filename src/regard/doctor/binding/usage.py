"""What an argument that no name explains is, by what the code does with it."""

import re
from collections.abc import Sequence
from dataclasses import replace

from regard.doctor.binding.binding import Slot

_USES = {
    "mask": (
        r"\b(?:masked_fill_?|where)\(\s*~?\s*{name}\b"
        r"|~\s*{name}\b|\blogical_not\(\s*{name}\b|\battn_mask\s*=\s*~?\s*{name}\b"
        r"|\b{name}\b[^\n=!<>]*[=!]=\s*(?:[01]|True|False)\b"
    ),
    "lengths": r"\barange\([^\n]*(?:[<>]=?)\s*{name}\b",
}


def by_use(slots: Sequence[Slot], code: str) -> list[Slot]:
    """The slots, those of unknown meaning as the mask or the lengths that the code uses them as."""
    told: list[Slot] = []
    for slot in slots:
        taken = {s.role for s in (*slots, *told)}
        if slot.role == "unknown" and slot.value is None and not taken & _USES.keys():
            slot = replace(slot, role=_use(slot.name, code))
        told.append(slot)
    return told


def _use(name: str, code: str) -> str:
    for role, pattern in _USES.items():
        if re.search(pattern.format(name=re.escape(name)), code):
            return role
    return "unknown"
