"""What was assumed of the examined code, in sentences."""

from regard.doctor.binding.binding import Binding, MaskForm
from regard.doctor.binding.parameters import Dims

_AXES = {"B": "batch", "T": "length", "D": "dim", "H": "heads", "1": "1", "L": "layers"}
_AXES |= {"Q": "query_len", "K": "key_len"}


def assumptions(
    binding: Binding,
    dims: tuple[tuple[str, Dims], ...],
    *,
    score: tuple[str, bool],
    convention: tuple[str, bool],
    scale: tuple[float | None, bool],
) -> tuple[str, ...]:
    """A line for each argument and convention; the last three say whether they were stated."""
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
    return tuple(lines)


def _words(axes: str) -> str:
    return ", ".join(_AXES[axis] for axis in axes)


def _meaning(form: MaskForm) -> str:
    if form.dtype == "bias":
        return "added to the scores"
    return f"{'True' if form.dtype == 'bool' else '1'} {'attends' if form.attends else 'hides'}"
