"""Sizes in the words of papers: 13 is d_h, 33 is 3*d_s, (3, 7, 13) is (batch, T_enc, d_h)."""

from itertools import combinations

from regard.doctor.probe import Sizes

SYMBOLS = {
    "batch": "batch",
    "query_len": "T_dec",
    "key_len": "T_enc",
    "query_dim": "d_s",
    "key_dim": "d_h",
    "value_dim": "d_v",
    "attn_dim": "d_attn",
    "num_heads": "heads",
    "embed_dim": "d_embed",
    "vocab": "vocab",
}
_WIDTHS = ("query_dim", "key_dim", "value_dim", "attn_dim", "embed_dim")


def symbol(size: int, sizes: Sizes) -> str:
    """The name of one size, or the number itself where it is nobody's."""
    if size == 1:
        return "1"
    names = [SYMBOLS[name] for name in SYMBOLS if getattr(sizes, name) == size]
    if names:
        return "=".join(names)
    widths = list(dict.fromkeys(getattr(sizes, name) for name in _WIDTHS))
    for a, b in combinations(widths, 2):
        if a + b == size:
            return f"{symbol(a, sizes)}+{symbol(b, sizes)}"
    for width in widths:
        if sizes.num_heads > 1 and size * sizes.num_heads == width:
            return f"{symbol(width, sizes)}/heads"
        for times in (2, 3, 4):
            if width * times == size:
                return f"{times}*{symbol(width, sizes)}"
    if size == sizes.batch * sizes.num_heads:
        return "batch*heads"
    for length in ("query_len", "key_len"):
        if size == sizes.batch * getattr(sizes, length):
            return f"batch*{SYMBOLS[length]}"
    return str(size)


def in_symbols(shape: tuple[int, ...], sizes: Sizes) -> str:
    """A shape in symbols: `(batch, T_enc, d_h)`."""
    inside = ", ".join(symbol(size, sizes) for size in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def both(shape: tuple[int, ...], sizes: Sizes) -> str:
    """A shape in symbols and in numbers: `(batch, T_enc, d_h) = (3, 7, 13)`."""
    words = in_symbols(shape, sizes)
    return words if words == str(tuple(shape)) else f"{words} = {tuple(shape)}"
