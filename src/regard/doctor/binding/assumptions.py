"""What was assumed of the examined code, in sentences."""

from collections.abc import Mapping
from typing import Any

from regard.doctor.binding.binding import Binding, MaskForm
from regard.doctor.binding.parameters import Dims
from regard.doctor.binding.roles import call_role

_AXES = {"B": "batch", "T": "length", "D": "dim", "H": "heads", "1": "1", "L": "layers"}
_AXES |= {"Q": "query_len", "K": "key_len"}


def assumptions(
    binding: Binding,
    dims: tuple[tuple[str, Dims], ...],
    *,
    score: tuple[str, bool],
    convention: tuple[str, bool],
    scale: tuple[float | None, bool],
    left: Mapping[str, Any],
) -> tuple[str, ...]:
    """A line for each argument and convention; the score and those after it may be stated.

    `left` are the optional arguments that stay at their defaults, by name.
    """
    lines = []
    for slot in binding.slots:
        if slot.role in ("query", "key", "value"):
            lines.append(f"{slot.role}: {slot.name} ({_words(slot.axes)})")
        elif slot.role == "mask" and binding.mask is not None:
            form = binding.mask
            lines.append(f"mask: {slot.name} ({_words(form.axes)}), {_meaning(form)}")
        elif slot.role in ("token", "lengths", "cell", "feed", "causal"):
            lines.append(f"{slot.role}: {slot.name}")
    for name, axes in dims:
        lines.append(f"parameter: {name} ({', '.join(axes)})")
    if any(form.role == "weights" and form.scores for form in binding.outputs):
        lines.append("returned: scores, whose softmax is examined")
    lines.append(f"score: {score[0]}" + ("" if score[1] else " (inferred)"))
    if convention[0]:
        lines.append(f"convention: {convention[0]}" + ("" if convention[1] else " (inferred)"))
    if scale[0] is not None and score[0] == "scaled_dot":
        lines.append(f"scale: {scale[0]:.4g}" + ("" if scale[1] else " (1 / sqrt(head dim))"))
    return (*lines, *_left(left, binding))


def _left(left: Mapping[str, Any], binding: Binding) -> list[str]:
    """What is not examined: each argument that may be a tensor, then plain settings together."""
    lines = []
    mask = binding.slot("mask")
    for name, default in left.items():
        if default is not None:
            continue
        fix = f"say what it is with --bind, as in --bind mask={name}"
        if mask is not None and call_role(name) in ("mask", "pair_mask"):
            fix = f"--bind mask={name} examines it in place of {mask.name}"
        lines.append(f"not examined: {name}, left at None ({fix})")
    plain = [f"{name}={default!r}" for name, default in left.items() if default is not None]
    return [*lines, f"left as it is: {', '.join(plain)}"] if plain else lines


def _words(axes: str) -> str:
    return ", ".join(_AXES[axis] for axis in axes)


def _meaning(form: MaskForm) -> str:
    if form.dtype == "bias":
        return "added to the scores"
    return f"{'True' if form.dtype == 'bool' else '1'} {'attends' if form.attends else 'hides'}"
