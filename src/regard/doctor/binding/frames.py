"""Frames: the layouts in which a query and the sequence that it looks at may come together."""

import re
from collections.abc import Mapping

from regard.doctor.binding.binding import Slot
from regard.doctor.binding.conventions import Stated
from regard.doctor.binding.shapes import sequence_axes
from regard.doctor.binding.subject import Subject

Frame = tuple[str, str]  # the axes of the query, and of key and value

_MANY = ("BTD", "BTD")
_ONE = ("BD", "BTD")
_STATE = ("1BD", "BTD")
_UNIT = ("B1D", "BTD")
_HEADS = ("BHTD", "BHTD")
_FIRST = (("TBD", "TBD"), ("BD", "TBD"), ("1BD", "TBD"))
_PLAIN = (("TD", "TD"), ("D", "TD"), ("1D", "TD"), ("11D", "TD"))
_HEADS_ONE = ("BHD", "BHTD")
_PLAIN_HEADS = ("HTD", "HTD")


def frames(
    subject: Subject, slots: tuple[Slot, ...], stated: Mapping[str, tuple[str, ...]], said: Stated
) -> list[Frame]:
    """The frames to try, those first that agree best with the stated shapes."""
    query = next((s for s in slots if s.role == "query"), None)
    key = next((s for s in slots if s.role == "key"), None)
    value = next((s for s in slots if s.role == "value"), None)
    given = said.layout if said.layout_given else ""
    stated = {name: words for name, words in stated.items() if not _against(given, words)}
    told_query = sequence_axes(stated.get(query.name, ())) if query else ""
    told_key = sequence_axes(stated.get(key.name, ())) if key else ""
    told_key = told_key or (sequence_axes(stated.get(value.name, ())) if value else "")
    order = [f for f in _order(subject, query, key, said) if _laid_out(f, given)]
    if key is None:
        order = [f for f in order if f[0] == f[1] and "T" in f[0]]
    together = _batched_together(stated, query, key)
    if together:
        told_query, told_key = together
    told = (told_query, told_key)
    pair = (told_query, told_key or told_query)
    if all(pair) and pair not in order and (told_key or key is None):
        order.insert(0, pair)
    agreeing = [
        (sum(_agrees(f, t) for f, t in zip(frame, told, strict=True)), frame) for frame in order
    ]
    best = max(score for score, _ in agreeing)
    return [frame for score, frame in agreeing if score == best]


def _laid_out(frame: Frame, layout: str) -> bool:
    """Whether the frame has this layout, or the layout says nothing of it."""
    other = {"length_first": ("BT", "BH"), "batch_first": ("TB",)}.get(layout, ())
    return not frame[1].startswith(other or "-")


def _against(layout: str, words: tuple[str, ...]) -> bool:
    return not _laid_out(("", sequence_axes(words)), layout)


def _batched_together(
    stated: Mapping[str, tuple[str, ...]], query: Slot | None, key: Slot | None
) -> Frame | None:
    """An axis word that a 2-D query and the 3-D keys share is the batch: s (m, n), H (m, T, h)."""
    if query is None or key is None:
        return None
    one, many = stated.get(query.name, ()), stated.get(key.name, ())
    if len(one) != 2 or len(many) != 3 or one[0] not in many[:2]:
        return None
    return ("BD", "BTD") if many[0] == one[0] else ("BD", "TBD")


def _agrees(axes: str, told: str) -> float:
    if not told:
        return 0.0
    if axes == told:
        return 1.0
    return 0.4 if len(axes) == len(told) else 0.0


def _order(
    subject: Subject, query: Slot | None, key: Slot | None, said: Stated
) -> tuple[Frame, ...]:
    name = query.name.lower() if query else ""
    state = any(w in name for w in ("state", "hidden", "s_", "dec", "prev", "h_t")) or name in (
        "s",
        "h",
        "st",
        "ht",
    )
    one_first = state and not name.endswith("s")
    layered = (
        any(
            w in subject.code
            for w in (
                f"{query.name}[-1]",
                f"{query.name}.squeeze(0)",
                f"{query.name}[0]",
                f"{query.name}.permute(1, 0",
                f"{query.name}.transpose(0, 1)",
            )
        )
        if query
        else False
    )
    if re.search(r"(num_|n_)?layers ?= ?2", subject.code):
        ones: tuple[Frame, ...] = (("LBD", "BTD"),)
    else:
        ones = (_STATE, _ONE) if layered else (_ONE, _STATE)
    batched = (*ones, _UNIT, _MANY) if one_first else (_MANY, *ones)
    first = tuple(f for f in (_FIRST[1:] + _FIRST[:1] if one_first else _FIRST))
    if layered:
        first = tuple(sorted(first, key=lambda f: f[0] != "1BD"))
    plain = (_PLAIN[1], _PLAIN[0], *_PLAIN[2:]) if one_first else _PLAIN[:2]
    heads = (_HEADS, _HEADS_ONE)
    if said.layout == "length_first":
        return (*first, *batched, *heads, *plain)
    if subject.framework == "numpy":
        if one_first:
            return (
                *batched[:1],
                *plain[:1],
                *batched[1:],
                *plain[1:],
                *heads,
                *first,
                _PLAIN_HEADS,
            )
        return (*batched[:1], *plain[:1], *batched[1:], *plain[1:], *heads, *first, _PLAIN_HEADS)
    if said.layout == "batch_first":
        return (*batched, *heads, *plain)
    return (*batched, *heads, *first, *plain)
