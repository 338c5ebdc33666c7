"""A mask as a small picture: queries down, keys across, one block an example."""

from collections.abc import Iterator
from itertools import zip_longest

from regard.core.masks.checks import readable
from regard.core.masks.mask import Mask

_CORNER = 8
"""Queries and keys drawn at most."""
_EXAMPLES = 3
_MOST_CELLS = 2**24
"""A larger mask is not made into a grid only to be drawn."""


def draw(mask: Mask) -> str:
    """Its top-left corner, ▪ where the query may attend; empty if it cannot be drawn."""
    for query_len, key_len in _sizes(mask):
        batch, heads = mask._lead_sizes()
        if batch * heads * query_len * key_len > _MOST_CELLS:
            return ""
        try:
            grid = mask.dense_for(query_len, key_len)
        except NotImplementedError:  # torch's word for a tensor without numbers, on meta
            return ""
        except ValueError:  # not at these sizes, or parts that never fit together
            continue
        if not readable(grid):
            return ""
        grid = grid.reshape(batch, heads, query_len, key_len)
        corner = grid[:_EXAMPLES, :1, :_CORNER, :_CORNER].flatten(0, 1).tolist()
        blocks = [[" ".join("·▪"[cell] for cell in row) for row in block] for block in corner]
        lines = ["   ".join(rows) for rows in zip_longest(*blocks)]
        shown = (min(query_len, _CORNER), min(key_len, _CORNER), min(batch, _EXAMPLES), 1)
        cut = [
            f"{part} of {whole} {name}"
            for name, part, whole in zip(
                ("queries", "keys", "examples", "heads"),
                shown,
                (query_len, key_len, batch, heads),
                strict=True,
            )
            if part < whole
        ]
        return "\n".join([*lines, f"({', '.join(cut)})"] if cut else lines)
    return ""


def _sizes(mask: Mask) -> Iterator[tuple[int, int]]:
    """The mask's own sizes as far as it has them, else sizes that show what it does."""
    query_len, key_len = mask._own_lens()
    if query_len is not None:
        yield query_len, query_len if key_len is None else key_len
    elif key_len is not None:
        yield 1 if mask._alike else key_len, key_len
    else:
        yield from ((3, 5), (5, 5))  # unequal lengths show the alignment, if it has one
