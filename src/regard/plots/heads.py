"""The heads of one attention layer beside each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.plots._grid import as_array
from regard.plots.alignment import side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heads(
    weights: Any,
    source: Sequence[str],
    target: Sequence[str],
    *,
    ncols: int | None = None,
    titles: Sequence[str] | None = None,
) -> "Figure":
    """Draw one panel for each head, under one colour scale.

    Args:
        weights: (heads, target_len, source_len), in 0..1: an array, a tensor or nested lists.
        source: a label for every key, written on top of each panel.
        target: a label for every query, written on the left.
        ncols: panels in a row; by default as many as there are, up to four.
        titles: a title for each panel; by default *head 0*, *head 1*, ...

    Raises:
        ValueError: weights without heads, labels or titles that do not fit, or weights outside
            0..1.
        TypeError: weights are no numbers, or a label is no string.

    >>> weights = [[[0.9, 0.1]], [[0.2, 0.8]]]
    >>> figure = heads(weights, source=["c", "a"], target=["K"])
    >>> [ax.get_title(loc="left") for ax in figure.axes[:2]]
    ['head 0', 'head 1']
    """
    caller = "plots.heads"
    array = as_array(weights, caller)
    if array.ndim != 3 or not len(array):
        raise ValueError(
            f"{caller}: weights of shape {array.shape}. Heads are drawn from (heads, target_len, "
            "source_len), with one head at least. Choose an example, as in weights[0]; for weights "
            "without heads there is plots.alignment."
        )
    if titles is None:
        titles = [f"head {head}" for head in range(len(array))]
    panels = [(head, source, target) for head in array]
    return side_by_side(panels, min(len(array), 4) if ncols is None else ncols, titles, caller)
