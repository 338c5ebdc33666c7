"""Keys kept from earlier calls: piece by piece gives what one call on the whole gives."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from regard.doctor.binding.bound import BoundExamination
from regard.doctor.binding.runner import entry
from regard.doctor.checks.asking import ask, check, differs, gap, percent, require
from regard.doctor.examination import Examination
from regard.doctor.findings import Place
from regard.doctor.probe import Array
from regard.doctor.symptoms import NotChecked, Symptom
from regard.doctor.tracing.trace import Event

NAME = "cached-equals-uncached"
CACHE = re.compile(
    r"(kv_?|k_?v_?|key_?value_?)?cache|(layer_?)?past(_key_values?|_kv)?|memory_cache"
)


def _cached(exam: Examination) -> Iterator[Symptom | NotChecked]:
    name = _argument(exam)
    require(bool(name), "the code takes no cache of earlier keys")
    assert isinstance(exam, BoundExamination)
    inputs = exam.inputs()
    whole = ask(exam, inputs).context
    require(whole is not None, "no context is returned")
    assert whole is not None
    cut = inputs.query.shape[1] // 2
    later = _in_two_pieces(exam, name, inputs.query, cut)
    require(later is not None, f"what is returned holds nothing to hand on as {name}")
    assert later is not None
    if later.shape == whole[:, cut:].shape and differs(later, whole[:, cut:]):
        moved = percent(gap(later, whole[:, cut:]))
        said = (
            f"with the first {cut} positions in {name} the context of the rest differs by {moved}"
        )
        causes = ("mask-dropped", "causal-alignment")
        yield Symptom(NAME, said, causes, _branch(exam, name))


def _argument(exam: Examination) -> str:
    """The argument that takes the cache, of batch-first self-attention in torch."""
    if not isinstance(exam, BoundExamination) or exam.framework != "torch":
        return ""
    slots = [slot for slot in exam.binding.slots if not slot.in_init]
    if [(slot.role, slot.axes) for slot in slots] != [("query", "BTD")]:
        return ""
    return next((name for name in exam.subject.call if CACHE.fullmatch(name.lower())), "")


def _in_two_pieces(exam: BoundExamination, name: str, sequence: Array, cut: int) -> Array | None:
    """The context of the second piece, called with what the first one returned to be kept."""
    owner = exam.fresh({}, train=False, half=False)
    call = entry(exam.subject, owner)
    query = exam.binding.slots[0].name
    first, second = (torch.as_tensor(p, dtype=torch.float32) for p in np.split(sequence, [cut], 1))
    try:
        with torch.no_grad():
            kept = [part for part in _parts(call(**{query: first})) if not _is_tensor(part)]
            answers = _parts(call(**{query: second, name: kept[0]})) if kept else []
    except Exception:
        return None
    found = [a for a in answers if _is_tensor(a) and a.shape[:2] == second.shape[:2]]
    return found[0].double().numpy() if found else None


def _parts(answer: Any) -> list[Any]:
    if isinstance(answer, dict):
        return list(answer.values())
    return list(answer) if isinstance(answer, tuple | list) else [answer]


def _is_tensor(part: Any) -> bool:
    return isinstance(part, torch.Tensor)


def _branch(exam: Examination, name: str) -> Event | None:
    """The line that does something only without a cache."""
    for number, line in enumerate(exam.source, 1):
        if re.search(rf"if\b.*\b{name} is None|if not {name}\b", line):
            return Event("if", (), (), place=Place(exam.file, number, line.strip()))
    return None


CHECKS = (check(NAME, "with earlier keys in a cache the result is that of one call", _cached),)
