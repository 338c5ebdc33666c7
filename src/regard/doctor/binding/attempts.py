"""Bindings to try for code that is built: layouts, token and mask forms, shapes of weights."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from regard.doctor.binding import masks
from regard.doctor.binding.binding import Binding, Slot
from regard.doctor.binding.construct import Construction
from regard.doctor.binding.conventions import Stated
from regard.doctor.binding.frames import Frame, frames
from regard.doctor.binding.parameters import candidates, combinations
from regard.doctor.binding.roles import is_prepared
from regard.doctor.binding.shapes import sequence_axes
from regard.doctor.binding.subject import Subject
from regard.doctor.binding.trial import Attempt


def attempts(
    subject: Subject,
    slots: tuple[Slot, ...],
    told: Mapping[str, tuple[str, ...]],
    said: Stated,
    mask_true: str | None,
    construction: Construction,
    built: Any,
) -> Iterator[Attempt]:
    """Every binding of one construction, the likeliest first."""
    everything = (*slots, *construction.slots)
    for frame in frames(subject, slots, told, said):
        laid = _laid(everything, frame, construction)
        weights = [s for s in laid if s.role == "parameter"]
        shapes = candidates(weights, told, _words(slots, told))
        for name, options in shapes.items():
            if re.search(rf"@ ?{name}\b(?!\.T)", subject.code):  # x @ W: its input's width first
                options.sort(key=lambda axes: axes[-1] != "attn_dim")
        for variant in _variants(subject, laid, frame):
            binding = _binding(variant, construction, frame)
            if any(s.role == "token" for s in variant):
                token = next(s for s in variant if s.role == "token")
                bindings = _token_forms(subject, binding, told.get(token.name, ()))
            else:
                bindings = iter((binding,))
            for option in bindings:
                for masked in _with_mask(option, told, said, mask_true):
                    for dims in combinations(shapes, most=12 if len(shapes) > 3 else 48):
                        init = dict(construction.arguments) if construction.slots else None
                        yield Attempt(masked, built, init, tuple(dims.items()))


def _laid(slots: tuple[Slot, ...], frame: Frame, construction: Construction) -> tuple[Slot, ...]:
    laid = []
    for slot in slots:
        axes, value = slot.axes, slot.value
        if slot.role == "query":
            axes = frame[0]
        elif slot.role in ("key", "value"):
            axes = frame[1]
        elif slot.role == "lengths":
            axes = "B" if "B" in frame[1] else ""
        elif slot.role == "heads":
            value = construction.heads
        elif slot.role == "flag":
            value = True
        elif slot.role == "scale" and slot.required:
            value = float((construction.sizes.query_dim / construction.heads) ** -0.5)
        elif slot.role == "dropout" and slot.required:
            value = 0.0
        elif slot.role == "feed":
            axes = "BD"
        elif slot.role == "query_lengths":
            axes = "B" if "B" in frame[1] else ""
        laid.append(replace(slot, axes=axes, value=value))
    kept = [s for s in laid if s.role != "mask" or s is mask_slot(laid)]
    return tuple(
        s
        for s in kept
        if s.required
        or s.role
        not in (
            "scale",
            "dropout",
            "unknown",
            "parameter",
            "token",
            "cell",
            "feed",
            "",
            "query_lengths",
        )
    )


def mask_slot(slots: Sequence[Slot]) -> Slot | None:
    """The one mask that is used: the one told, required, or the keys' own, else the first."""
    own = [s for s in slots if s.role == "mask"]
    told = [s for s in own if s.stated]
    key = next((s.name for s in slots if s.role in ("key", "value")), "")
    keys_own = [f"{key}_key_padding_mask", f"{key}_padding_mask", f"{key}_mask"]
    required = [s for s in own if s.required]
    named = [s for name in keys_own for s in own if s.name == name]
    return next(iter([*told, *required, *named, *own]), None)


def _variants(
    subject: Subject, slots: tuple[Slot, ...], frame: Frame
) -> Iterator[tuple[Slot, ...]]:
    yield slots
    feeds = [s for s in slots if s.role == "feed"]
    if feeds:
        for axes in ("B1D", "1BD"):
            yield tuple(replace(s, axes=axes) if s.role == "feed" else s for s in slots)


def _binding(slots: tuple[Slot, ...], construction: Construction, frame: Frame) -> Binding:
    sizes = construction.sizes
    equal = set(construction.equal)
    roles = {slot.role for slot in slots}
    if "key" not in roles:
        sizes = sizes.with_(
            key_len=sizes.query_len, key_dim=sizes.query_dim, value_dim=sizes.query_dim
        )
        equal |= {frozenset(p) for p in (("query_len", "key_len"), ("query_dim", "key_dim"))}
    key = next((s for s in slots if s.role == "key"), None)
    if key is not None and "value" in roles and is_prepared(key.name):
        sizes = sizes.with_(value_dim=sizes.key_dim, key_dim=sizes.attn_dim)
        equal = {p for p in equal if "key_dim" not in p}
    if "value" not in roles:
        sizes = sizes.with_(value_dim=sizes.key_dim)
        equal.add(frozenset(("value_dim", "key_dim")))
    if "T" not in frame[0]:
        sizes = sizes.with_(query_len=1)
    heads = construction.heads
    kv_heads = construction.kv_heads
    explicit = "H" in frame[0] or any(s.role == "heads" for s in slots)
    kv_heads = kv_heads or (2 if explicit and heads == 4 else 0)
    if kv_heads and "H" in frame[0]:  # as many channels a head
        sizes = sizes.with_(key_dim=sizes.query_dim // heads * kv_heads)
        sizes = sizes.with_(value_dim=sizes.value_dim // heads * kv_heads)
    return Binding(
        slots=slots,
        sizes=sizes,
        equal=frozenset(equal),
        unexpected=construction.unexpected,
        num_heads=heads,
        kv_heads=kv_heads,
    )


def _token_forms(subject: Subject, binding: Binding, told: tuple[str, ...]) -> Iterator[Binding]:
    ids = ("B", "B1", "1B")
    floats = ("BD", "B1D", "1BD")
    embeds = "Embedding" in subject.code
    order = [(True, a) for a in ids] + [(False, a) for a in floats]
    if not embeds:
        order = order[3:] + order[:3]
    order.sort(key=lambda form: form[1] != sequence_axes(told))
    for pair in ("", "cell", "feed"):
        for is_ids, axes in order:
            slots = tuple(replace(s, axes=axes) if s.role == "token" else s for s in binding.slots)
            yield replace(binding, slots=slots, token_ids=is_ids, state_pair=pair)


def _with_mask(
    binding: Binding, told: Mapping[str, tuple[str, ...]], said: Stated, mask_true: str | None
) -> Iterator[Binding]:
    mask = binding.slot("mask")
    if mask is None or not mask.required:
        yield binding
        return
    for form in masks.forms(binding, mask, told.get(mask.name, ()), said, mask_true):
        if form.attends or (mask_true or said.mask_true) == "hides":
            yield replace(binding, mask=form)


def _words(slots: tuple[Slot, ...], told: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Which size a width's word means: the last word of the query's shape is query_dim."""
    words: dict[str, str] = {}
    for role in ("value", "key", "query"):
        for slot in slots:
            if slot.role == role and told.get(slot.name):
                words[told[slot.name][-1]] = f"{role}_dim"
    return words
