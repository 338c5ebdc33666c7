"""The form of a mask: axes, type and polarity, by what is stated and by what works when tried."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.doctor.binding.binding import Binding, MaskForm, Slot
from regard.doctor.binding.conventions import Stated
from regard.doctor.binding.shapes import mask_axes
from regard.doctor.binding.subject import Subject
from regard.doctor.binding.trial import Attempt, Trial, attempt_call, draw_inputs, try_out
from regard.doctor.probe import Inputs

_AXES = {
    (True, True): ("BK", "BQK", "B1K", "B11K", "B1QK", "QK", "BHQK", "KB"),
    (True, False): ("BK", "B1K", "BK1", "KB", "B11K"),
    (False, True): ("QK", "K", "1K", "1QK"),
    (False, False): ("K", "1K", "K1"),
}


def forms(
    binding: Binding, slot: Slot, told: tuple[str, ...], said: Stated, mask_true: str | None
) -> Iterator[MaskForm]:
    """Forms to try, the stated or likeliest first."""
    axes = _AXES[not binding.loops_batch, not binding.loops_queries]
    query = binding.slot("query")
    pair = slot.name.lower() in (
        "attn_mask",
        "causal_mask",
        "bias",
        "attn_bias",
        "tgt_mask",
        "score_mask",
    )
    if query and "H" in query.axes:
        axes = ("B1QK", "BHQK", "BQK", "B11K", "BK", "QK")
    elif pair and "BQK" in axes:
        axes = ("BQK", "QK", "B1QK", "BHQK", "BK", "B11K")
    written = mask_axes(told)
    if written == "QK" and "pad" in slot.name.lower():  # (N, S): a row for each example
        written = "BK"
    stated = _fitting(written, binding)
    axes = (stated,) if stated else axes
    polarity = mask_true or said.mask_true
    sides = (polarity != "hides",) if polarity else (True, False)
    if said.additive_mask and not polarity:
        yield from (MaskForm(a, "bias") for a in axes)
    dtypes = ("uint8",) if said.byte_mask else ("bool", "float", "int")
    for dtype, attends, a in itertools.product(dtypes, sides, axes):
        yield MaskForm(a, dtype, attends)
    if not polarity:
        yield from (MaskForm(a, "bias") for a in axes)


def _fitting(axes: str, binding: Binding) -> str:
    if binding.loops_batch:
        axes = axes.replace("B", "")
        return axes if axes in ("QK", "K", "1K", "1QK") else ""
    if binding.loops_queries:
        axes = axes.replace("Q", "1")
    if "H" in axes and binding.num_heads == 1:
        axes = axes.replace("H", "1")
    return axes


def settle(
    subject: Subject,
    attempt: Attempt,
    told: tuple[str, ...],
    said: Stated,
    mask_true: str | None,
    causal: bool,
) -> Attempt:
    """The attempt with the form under which hidden positions matter least; else the first."""
    slot = attempt.binding.slot("mask")
    if slot is None:
        return attempt
    found: list[tuple[float, int, Attempt]] = []
    failed: list[Trial] = []
    for number, form in enumerate(forms(attempt.binding, slot, told, said, mask_true)):
        tried = replace(attempt, binding=replace(attempt.binding, mask=form))
        influence = _influence(subject, tried, causal)
        if influence is None:
            failed.append(try_out(subject, tried, hidden_inputs(tried.binding, causal)))
            continue
        found.append((influence, number, tried))
        if influence < 1e-6 or len(found) > 24:
            break
    if not found:
        best = max(failed, key=lambda trial: trial.returned.progress)
        ranked = [t for t in failed if t.returned.progress == best.returned.progress]
        return ranked[0].attempt
    least = min(influence for influence, _, _ in found)
    if least > 0.3:  # no form hides: keep the first that runs
        return found[0][2]
    return next(tried for influence, _, tried in found if influence <= max(least * 1.5, 1e-6))


def hidden_inputs(binding: Binding, causal: bool) -> Inputs:
    """Random input of which each example but the longest has hidden keys."""
    sizes = binding.sizes
    lengths = tuple(
        sorted((max(2, sizes.key_len - 3 * b) for b in range(sizes.batch)), reverse=True)
    )
    if binding.loops_batch:
        lengths = lengths[1:2] * sizes.batch
    return draw_inputs(binding, lengths=lengths, causal=causal)


def _influence(subject: Subject, attempt: Attempt, causal: bool) -> float | None:
    """How far the answer moves when what is hidden changes, against when all changes."""
    inputs = hidden_inputs(attempt.binding, causal)
    first = _answer(subject, attempt, inputs)
    if first is None:
        return None
    hidden = np.arange(inputs.keys.shape[1]) >= np.asarray(inputs.lengths)[:, None]
    other = draw_inputs(attempt.binding, seed=5)
    changes: dict[str, Any] = {}
    rows = np.full(first.shape[:1], True)
    for name in ("key", "value") if inputs.key is not None else ("query",):
        array, new = getattr(inputs, name), getattr(other, name)
        if array is not None:
            changes[name] = np.where(hidden[:, :, None], new, array)
    second = _answer(subject, attempt, inputs.with_(**changes))
    third = _answer(subject, attempt, inputs.with_(**{n: getattr(other, n) for n in changes}))
    if second is None or third is None or not np.isfinite(first).all():
        return 9.0
    if inputs.key is None and first.shape[:2] == hidden.shape:
        rows = ~hidden
    moved = np.abs(second - first)[rows].max(initial=0.0)
    return float(moved / (np.abs(third - first)[rows].max(initial=0.0) + 1e-12))


def _answer(subject: Subject, attempt: Attempt, inputs: Any) -> NDArray[Any] | None:
    returned = attempt_call(subject, attempt, inputs)
    if returned.failure is not None:
        return None
    forms = attempt.binding.outputs
    for role in ("context", "weights"):
        for form, (_, array) in zip(forms, returned.found, strict=False):
            if form.role == role:
                plain = array.detach().numpy() if hasattr(array, "detach") else np.asarray(array)
                return plain.astype(np.float64)
    return None
