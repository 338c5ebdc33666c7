"""What every plot of one alignment matrix starts from: checked weights and labels."""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

_LONGEST = 32  # characters of a label in a figure; the page cuts what it says at as many
ROUNDING = 0.01  # half precision may round a weight this far past 1


class Grid(NamedTuple):
    """Weights in 0..1, query ``i`` and key ``j`` at ``[i, j]``, with a label for each."""

    weights: Float64[np.ndarray, "target_len source_len"]
    source: list[str]
    target: list[str]


def checked_grid(weights: Any, source: Sequence[str], target: Sequence[str], caller: str) -> Grid:
    """Return the checked `Grid`; `caller` begins every message.

    >>> checked_grid([[0.25, 0.75]], source=["k", "a"], target=["K"], caller="plots").source
    ['k', 'a']
    """
    array = as_array(weights, caller)
    labels = {
        "source": as_labels(source, "source", caller),
        "target": as_labels(target, "target", caller),
    }
    shape = str(array.shape)
    if array.ndim != 2:
        raise ValueError(
            f"{caller}: weights has {array.ndim} axes, shape {shape}. One alignment is drawn: two "
            "axes, (target_len, source_len). Choose an example and a head, as in weights[0, 0], "
            "or average the heads."
        )
    for axis, name in ((0, "target"), (1, "source")):
        given = labels[name]
        if len(given) != array.shape[axis]:
            other = array.shape[1 - axis]
            turned = (len(labels["source"]), len(labels["target"])) == array.shape
            fix = (
                "Pass weights.T: queries go down, keys across."
                if turned
                else "Pass one label for every position, the end symbol and padding included, or "
                "cut the weights to the labels."
            )
            raise ValueError(
                f"{caller}: {name} has {len(given)} labels but weights has {array.shape[axis]} "
                f"{('rows', 'columns')[axis]} (beside {other} {('columns', 'rows')[axis]}). "
                f"weights is (target_len, source_len) = {shape}. {fix}"
            )
    if array.size == 0:
        raise ValueError(
            f"{caller}: weights of shape {shape} has no cell. An alignment has at least one query "
            "and one key. Leave empty sequences out."
        )
    check_weights(array, caller)
    return Grid(
        weights=np.minimum(array, 1.0),
        source=[visible(label) for label in labels["source"]],
        target=[visible(label) for label in labels["target"]],
    )


def as_labels(given: Any, name: str, caller: str) -> list[str]:
    """Return the labels of one axis as a list, checked to be text."""
    try:
        labels = list(given)
    except TypeError:
        raise TypeError(
            f"{caller}: {name} is {given!r:.40}, {type(given).__name__}. It is a list of strings, "
            "one for each position. Pass a list."
        ) from None
    for label in labels:
        if not isinstance(label, str):
            raise TypeError(
                f"{caller}: {name} has the label {label!r:.40} of type {type(label).__name__}. "
                f"Labels are strings. Decode token ids first, or pass [str(label) for label in "
                f"{name}]."
            )
    return labels


def check_title(title: Any, caller: str, name: str = "title") -> None:
    """Refuse a title that is no text."""
    if not isinstance(title, str | None):
        raise TypeError(
            f"{caller}: {name} is {title!r:.40}, {type(title).__name__}. It is a string. Pass one, "
            "or None for no title."
        )


def check_weights(array: Float64[np.ndarray, "..."], caller: str) -> None:
    """Refuse what no weights can be."""
    for wrong, found, fix in (
        (~np.isfinite(array), "is not a finite number", "Find where it arose: 0 is an empty row."),
        (array < 0, "is negative", "Pass weights, after normalising, and not scores."),
        (array > 1 + ROUNDING, "is above 1", "Pass weights, after normalising, and not scores."),
    ):
        if wrong.any():
            place = tuple(int(axis) for axis in np.argwhere(wrong)[0])
            raise ValueError(
                f"{caller}: weights[{', '.join(map(str, place))}] = {array[place]:.4g} {found} (as "
                f"are {int(wrong.sum())} of {array.size} cells). Weights lie in 0..1. {fix}"
            )


def as_array(weights: Any, caller: str) -> Float64[np.ndarray, "..."]:
    """Return an array, a tensor or nested lists as numbers of 64 bits."""
    if hasattr(weights, "detach"):  # a torch tensor, on any device, of any float type
        weights = weights.detach().cpu()
        weights = (weights if weights.is_complex() else weights.double()).numpy()
    try:
        array = np.asarray(weights)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{caller}: weights is {type(weights).__name__}, which makes no array of real numbers. "
            "Weights are a rectangle (target_len, source_len). Pass an array, a tensor or a list "
            "of equally long rows."
        )
    return array.astype(np.float64)


def cut(label: str, longest: int = _LONGEST) -> str:
    """Cut a text that is too long, by default a label that is longer than any word.

    >>> len(cut("x" * 3000)), cut("x" * 3000)[-2:], cut("word")
    (32, 'x…', 'word')
    """
    return label if len(label) <= longest else label[: longest - 1] + "…"


def visible(label: str) -> str:
    """Write what would be invisible, or upset a line of text, as something that can be seen.

    >>> visible("a b"), visible(" "), visible("two\\nlines")
    ('a b', '␣', 'two\\\\nlines')
    """
    if not label or label.isspace():
        return "␣" * len(label) or "∅"
    return "".join(
        ascii(c)[1:-1] if unicodedata.category(c) in ("Cc", "Cs") or c in _DIRECTIONS else c
        for c in label
    )


# Characters that turn the direction of the text around them.
_DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"


def digits(weight: float) -> str:
    """Write a weight as hundredths: ``46`` for .46, and ``·`` for what rounds to nothing.

    >>> digits(0.464), digits(1.0), digits(0.004)
    ('46', '100', '·')
    """
    return str(round(weight * 100)) if round(weight * 100) else "·"
