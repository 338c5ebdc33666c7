"""What an argument that no name explains is, by what is said of it or done with it."""

import re
from collections.abc import Iterable, Sequence
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


_DESCRIBED = {"query": "query|queries", "key": "keys?", "value": "values?"}


def by_words(names: Iterable[str], docs: str) -> dict[str, str]:
    """The roles of arguments that a docstring describes: `payload (S, B, E)  the values`."""
    told: dict[str, str] = {}
    for name in names:
        entry = rf"(?m)^\W*(?:param \W*)?{re.escape(name)}\b[`*]*\s*:?\s*(?:[\(\[][^)\]\n]*[\)\]])?"
        for role, words in _DESCRIBED.items():
            if re.search(
                rf"{entry}\s*[:,=–-]*\s*(?:the )?(?:{words})\b\s*(?:[,;.:(]|$)", docs, re.I
            ):
                told.setdefault(name, role)
    return told


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
