"""The code's answer in canonical form: which array is the context, which the weights."""

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.doctor.binding.binding import Binding, OutputForm

_WEIGHTS = {
    (True, True): ("BQK", "BHQK", "B1QK", "QBK", "GQK", "HBQK", "BQHK", "BKQ", "BQK1"),
    (True, False): (
        *("BK", "B1K", "BK1", "KB", "KB1", "1BK", "BHK", "BH1K", "B11K", "BHK1", "GK", "G1K"),
        *("K1B", "1KB", "BKH", "K"),
    ),
    (False, True): ("QK", "HQK", "1QK", "1HQK", "KQ"),
    (False, False): ("K", "K1", "1K", "11K", "HK", "H1K", "1H1K", "K11"),
}  # by (batched, many queries)
_CONTEXT = {
    (True, True): ("BQD", "QBD", "BHQD", "BQHD", "B1QD"),
    (True, False): ("BD", "B1D", "1BD", "BHD", "BH1D", "BD1"),
    (False, True): ("QD", "1QD", "HQD", "1HQD"),
    (False, False): ("D", "1D", "11D", "HD", "H1D", "D1"),
}


def arrays(returned: Any) -> list[tuple[str, Any]]:
    """Every array of an answer with its label: a name where it has one, else its place."""
    if isinstance(returned, torch.Tensor | np.ndarray):
        return [("", returned)]
    if isinstance(returned, Mapping):
        pairs = [(str(k), v) for k, v in returned.items()]
    elif dataclasses.is_dataclass(returned) and not isinstance(returned, type):
        pairs = [(f.name, getattr(returned, f.name)) for f in dataclasses.fields(returned)]
    elif isinstance(returned, tuple | list):
        fields = getattr(returned, "_fields", range(len(returned)))
        pairs = [(str(n), v) for n, v in zip(fields, returned, strict=True)]
    else:
        return []
    return [
        (label if not inner else f"{label}.{inner}", array)
        for label, value in pairs
        for inner, array in arrays(value)
    ]


def classify(found: list[tuple[str, Any]], binding: Binding) -> tuple[tuple[OutputForm, ...], int]:
    """A form for each array, and how many float arrays could not be understood."""
    kind = (not binding.loops_batch, not binding.loops_queries)
    forms: list[OutputForm] = []
    taken: set[str] = set()
    options: list[list[tuple[str, str]]] = []
    for label, array in found:
        shape = tuple(array.shape)
        fits = [
            ("weights", axes) for axes in _WEIGHTS[kind] if _fits(shape, axes, binding, "weights")
        ]
        if not label.startswith("self."):
            fits += [
                ("context", axes)
                for axes in _context_axes(kind, binding)
                if _fits(shape, axes, binding, "context")
            ]
        options.append(fits)
    order = sorted(range(len(found)), key=lambda i: _rank(found, i, options[i], binding))
    chosen: dict[int, tuple[str, str]] = {}
    for index in order:
        for role, axes in options[index]:
            if role not in taken:
                chosen[index] = (role, axes)
                taken.add(role)
                break
    unknown = 0
    for index, (label, _) in enumerate(found):
        role, axes = chosen.get(index, ("other", ""))
        forms.append(OutputForm(label, role, axes))
        unknown += role == "other" and not options[index] and not label.startswith("self.")
    step = any(slot.role == "token" for slot in binding.slots)  # states and logits come beside
    return tuple(forms), 0 if step else unknown


def _context_axes(kind: tuple[bool, bool], binding: Binding) -> tuple[str, ...]:
    axes = _CONTEXT[kind]
    if kind == (True, True):
        first = "QBD" if binding.leading.axes.startswith("TB") else "BQD"
        return (first, *(a for a in axes if a != first))
    return axes


def _rank(
    every: list[tuple[str, Any]], index: int, options: list[tuple[str, str]], binding: Binding
) -> int:
    label, array = every[index]
    if label.startswith("self.") and any(_equal(array, a) for _, a in every[:index]):
        return 8  # kept as it was returned
    named = any(word in label for word in ("context", "ctx", "weight", "attn", "alpha"))
    width = array.shape[-1] if array.ndim else 0
    if not options:
        return 9
    if options[0][0] == "weights":
        unlike = bool((array < 0).any())
    else:
        unlike = bool(width != binding.sizes.value_dim)
    return (not named) + unlike


def _equal(one: Any, other: Any) -> bool:
    return one.shape == other.shape and bool((one == other).all())


def _lengths(binding: Binding) -> dict[str, int]:
    sizes, heads = binding.sizes, binding.num_heads
    many = not binding.loops_queries
    batch = 1 if binding.loops_batch else sizes.batch
    return {
        "B": batch,
        "Q": sizes.query_len if many else 1,
        "K": sizes.key_len,
        "H": heads,
        "G": batch * heads,
        "1": 1,
    }


def _fits(shape: tuple[int, ...], axes: str, binding: Binding, role: str) -> bool:
    sizes = _lengths(binding)
    if "H" in axes and sizes["H"] == 1:
        return False
    if "G" in axes and (sizes["H"] == 1 or sizes["B"] == 1):
        return False
    if len(shape) != len(axes):
        return False
    return all(a == "D" or sizes[a] == n for a, n in zip(axes, shape, strict=True))


def canonical(array: NDArray[Any], form: OutputForm, binding: Binding) -> Any:
    """(batch, query, any) for a context, (batch, heads or 1, query, key) for weights."""
    axes = form.axes
    if "G" in axes:
        heads = binding.num_heads
        at = axes.index("G")
        shape = (*array.shape[:at], array.shape[at] // heads, heads, *array.shape[at + 1 :])
        array, axes = array.reshape(shape), axes.replace("G", "BH")
    for place in reversed(range(len(axes))):
        if axes[place] == "1":
            array, axes = array.take(0, axis=place), axes[:place] + axes[place + 1 :]
    if form.scores:
        array = _softmax(array, axes.index("K"))
    wanted = "BHQK" if form.role == "weights" else "BQHD" if "H" in axes else "BQD"
    array = array.transpose([axes.index(a) for a in wanted if a in axes])
    for place, name in enumerate(wanted):
        if name not in axes:
            array = np.expand_dims(array, place)
    if wanted == "BQHD":
        array = array.reshape(*array.shape[:2], -1)
    return array


def _softmax(array: NDArray[Any], axis: int) -> NDArray[Any]:
    top = array.max(axis=axis, keepdims=True)
    exp = np.exp(array - np.where(np.isfinite(top), top, 0.0))
    total = exp.sum(axis=axis, keepdims=True)
    return np.divide(exp, total, out=np.zeros_like(exp), where=total != 0)


def as_scores(forms: tuple[OutputForm, ...], found: Any) -> tuple[OutputForm, ...]:
    """The forms of code that gives scores alone: they are negative somewhere, weights never."""
    if {form.role for form in forms} & {"context"}:
        return forms
    marked = []
    for form, (_, array) in zip(forms, found, strict=True):
        negative = form.role == "weights" and bool((array < 0).any())
        marked.append(replace(form, scores=True) if negative else form)
    return tuple(marked)


def expected_shape(form: OutputForm, binding: Binding) -> tuple[int | None, ...]:
    """The shape that this form has at the binding's sizes; None for free channels."""
    sizes = _lengths(binding)
    return tuple(None if a == "D" else sizes[a] for a in form.axes)


def average_first(
    forms: tuple[OutputForm, ...], found: Any, binding: Binding, inputs: Any
) -> tuple[OutputForm, ...]:
    """The forms, with the context moved to an array that equals weights @ value, where one does."""
    kind = (not binding.loops_batch, not binding.loops_queries)
    weights = next((n for n, f in enumerate(forms) if f.role == "weights"), None)
    if weights is None or binding.loops_batch or binding.num_heads > 1:
        return forms
    plain = [
        np.asarray(a.detach() if hasattr(a, "detach") else a, dtype=np.float64) for _, a in found
    ]
    average = canonical(plain[weights], forms[weights], binding)[:, 0] @ inputs.values
    for place, array in enumerate(plain):
        for axes in _context_axes(kind, binding):
            if place == weights or not _fits(array.shape, axes, binding, "context"):
                continue
            form = OutputForm(forms[place].label, "context", axes)
            given = canonical(array, form, binding)
            if given.shape == average.shape and np.allclose(given, average, rtol=1e-4, atol=1e-4):
                others = tuple(
                    OutputForm(f.label, "other", "") if f.role == "context" else f for f in forms
                )
                return (*others[:place], form, *others[place + 1 :])
    return forms
