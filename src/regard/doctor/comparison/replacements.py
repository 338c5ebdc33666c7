"""The one-line fix of a known fault, made from the line at fault."""
# ruff: noqa: E501  (one sentence a line reads best in tables)

import re
from collections.abc import Callable

from regard.doctor.comparison import fixes, rewrites, score_rewrites
from regard.doctor.comparison.fixes import Spot
from regard.doctor.comparison.helpers import axis_given, mask_names
from regard.doctor.comparison.variants import Variant
from regard.doctor.examination import Examination
from regard.doctor.probe import Answer
from regard.doctor.tracing.locate import normalizers

_ADVICE = {
    "tanh": "Put the sum into tanh before v: scores = v · tanh(W s + U h).",
    "tanh-inside": "Take tanh before v, and nothing after it: scores = v · tanh(W s + U h).",
    "no-outer-tanh": "Leave out the tanh around the scores.",
    "tanh-sum": "Add first, then take one tanh: tanh(W s + U h).",
    "to-tanh": "Use tanh here.",
    "add": "Add the two projections: tanh(W s + U h).",
    "v": "Contract with v: scores = tanh(W s + U h) @ v.",
    "use-query": "Let the projected query enter the scores.",
    "use-key": "Compare the query with the projected keys.",
    "each-query": "Give each query its own row: scores of shape (batch, T_dec, T_enc).",
    "batch-first": "Put the batch axis where the operation expects it: batch_first=True, or transpose(0, 1).",
    "first-layer": "Take the last layer's state: hidden[-1].",
    "state": "Take the output state: hidden[-1] of the layers, h of an LSTM's (h, c).",
    "each-sample": "Keep each sample's own query: no mean or sum over the batch.",
    "repeat-rows": "Use state.unsqueeze(1).expand(-1, T, -1), or state.unsqueeze(1) alone.",
    "interleave": "Use repeat_interleave in place of repeat.",
    "repeat": "Use repeat in place of repeat_interleave.",
    "unsqueeze-query": "Give the state a length axis: state.unsqueeze(1), of shape (batch, 1, d_s).",
    "product": "Take the product: scores = query @ key.transpose(-2, -1).",
    "no-relu": "Leave out the relu around the scores.",
    "transpose": "Transpose the last two axes in place of the reshape: key.transpose(-2, -1).",
    "transpose-batch": "Use transpose(0, 1) in place of the view.",
    "W": "Use W as query @ W @ key^T, with W (d_s, d_h).",
    "swap": "Let the query's matrix project the query, and the keys' matrix the keys.",
    "softmax-axis": "Normalize over the key axis.",
    "add-softmax": "Use softmax over the key axis.",
    "to-softmax": "Use softmax over the key axis.",
    "one-softmax": "Apply softmax once.",
    "average": "Average the values with the weights: weights @ value.",
    "sum": "Sum over the keys in place of the mean.",
    "sum-axis": "Sum over the key axis: context = weights @ value.",
    "head-split": "Cut heads with .view(batch, T, heads, d).transpose(1, 2).",
    "head-merge": "Join heads with .transpose(1, 2).reshape(batch, T, heads * d).",
    "use-mask": "Assign the result of the masking to the scores before the softmax.",
    "invert": "Invert the mask at this line: ~mask.",
    "as-bool": "Hide what the mask hides and nothing else: ~mask.bool() where it is 1 at what is seen.",
    "mask-axis": "Lay the mask over the keys: mask[:, None, :], of shape (batch, 1, T_enc).",
    "mask-heads": "Give the mask a heads axis: mask[:, None], of shape (batch, 1, T_dec, T_enc).",
    "length": "Compare with <: visible = arange(T_enc) < length.",
    "fill": 'Fill hidden scores with float("-inf").',
    "mask-before": 'Mask the scores before the softmax: scores.masked_fill(~visible, float("-inf")).',
    "diagonal": "Query i sees keys 0 to i: visible = tril(ones(T, T)), hidden = triu(ones, diagonal=1).",
    "triangle": "Query i sees keys 0 to i: visible = tril(ones(T, T)), hidden = triu(ones, diagonal=1).",
    "align": "Align the triangle to the last keys: tril(ones(T_dec, T_enc), T_enc - T_dec).",
    "return": "Return the weights that make the context.",
    "scale": "Multiply the scores by the right factor.",
}  # fmt: skip


def replacement(exam: Examination, answer: Answer, variant: Variant, found: Spot) -> str:
    """A replacement for the line where one can be made, or one line of advice."""
    line = found.place.code if found.place is not None else ""
    made = _rewritten(exam, answer, variant, found, line)
    if made is not None and made != line:
        return made
    return _ADVICE[variant.fix]


def _rewritten(
    exam: Examination, answer: Answer, variant: Variant, found: Spot, line: str
) -> str | None:
    torch = exam.framework == "torch"
    if variant.fix == "softmax-axis" and found.event is not None:
        axis = key_axis(exam, answer, found)
        if axis is None:
            return None
        inner = found.event.place
        there = inner is not None and found.place is not None and inner.line == found.place.line
        if inner is not None and not there:  # a helper's softmax, over an axis that it is given
            return axis_given(exam.source, inner.line, line, axis)
        return fixes.softmax_over(line, axis, torch)
    if variant.fix == "invert" and found.event is not None:
        return fixes.inverted(line, mask_names(exam, answer, found), torch)
    if variant.fix == "fill":
        hides = variant.does.startswith("the 0/1")
        masks = mask_names(exam, answer, found)
        made = [rewrites.mask_filled(line, name, hides, torch) for name in masks]
        return next((one for one in made if one), None) or fixes.filled(line, torch)
    if variant.fix == "W":
        matrices = [name for name, array in exam.parameters().items() if array.ndim == 2]
        return next(filter(None, (score_rewrites.turned(line, m) for m in matrices)), None)
    form = _FORMS.get(variant.fix)
    return None if form is None else form(line, exam.mask_role, torch)


def _to_tanh(line: str, mask: str, torch: bool) -> str:
    return re.sub(r"\b(relu|sigmoid|gelu)\(", "tanh(", line).replace("F.tanh", "torch.tanh")


_FORMS: dict[str, Callable[[str, str, bool], str | None]] = {
    "interleave": lambda line, mask, torch: rewrites.interleaved(line),
    "repeat": lambda line, mask, torch: re.sub(r"\brepeat_interleave\(", "repeat(", line),
    "repeat-rows": lambda line, mask, torch: rewrites.laid_along(line, torch),
    "tanh": lambda line, mask, torch: rewrites.with_tanh(line, torch),
    "tanh-inside": lambda line, mask, torch: rewrites.tanh_inside(line),
    "tanh-sum": lambda line, mask, torch: score_rewrites.tanh_of_sum(line),
    "no-outer-tanh": lambda line, mask, torch: fixes.unwrapped(line, "tanh"),
    "no-relu": lambda line, mask, torch: fixes.unwrapped(line, "relu"),
    "to-tanh": _to_tanh,
    "sum": lambda line, mask, torch: re.sub(r"\bmean\(", "sum(", line),
    "use-mask": lambda line, mask, torch: rewrites.mask_used(line),
    "as-bool": lambda line, mask, torch: rewrites.inverted_as_bool(line, torch),
    "mask-axis": lambda line, mask, torch: rewrites.mask_over_keys(line),
    "length": lambda line, mask, torch: line.replace("<=", "<", 1),
    "transpose": lambda line, mask, torch: rewrites.transposed(line, (-2, -1), torch),
    "transpose-batch": lambda line, mask, torch: rewrites.transposed(line, (0, 1), torch),
    "head-split": lambda line, mask, torch: rewrites.heads_cut(line),
    "head-merge": lambda line, mask, torch: rewrites.heads_joined(line, torch),
    "diagonal": lambda line, mask, torch: rewrites.triangle_of(line, False, torch),
    "triangle": lambda line, mask, torch: rewrites.triangle_of(line, True, torch),
    "first-layer": lambda line, mask, torch: rewrites.last_layer(line),
}  # fmt: skip


def key_axis(exam: Examination, answer: Answer, found: Spot) -> int | None:
    """The axis of the normalized array that runs over the keys; -1 where it is the last."""
    for one in normalizers(answer.trace):
        if one.event is found.event:
            shape = one.scores.shape
            length = answer.weights.shape[-1] if answer.weights is not None else exam.sizes.key_len
            axes = [axis for axis, size in enumerate(shape) if size == length]
            if axes:
                return -1 if axes[-1] == len(shape) - 1 else axes[-1]
    return None
