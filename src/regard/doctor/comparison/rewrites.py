"""Lines put right: from the line at fault as it is written to the line as it should be.

Each takes the line and gives the new one, or None where the line is not written in a way that is
understood.
"""

import re

from regard.doctor.comparison.fixes import closing


def _replaced(pattern: str, new: str, code: str) -> str | None:
    changed, count = re.subn(pattern, new, code, count=1)
    return changed if count else None


def interleaved(code: str) -> str | None:
    """`x.repeat(1, n, 1, 1)` with each row repeated in its place."""
    found = re.search(r"\.repeat\(([^()]+)\)", code)
    if found is None:
        return None
    counts = [part.strip() for part in found.group(1).split(",")]
    axes = [axis for axis, count in enumerate(counts) if count != "1"]
    if len(axes) != 1:
        return None
    new = f".repeat_interleave({counts[axes[0]]}, dim={axes[0]})"
    return code[: found.start()] + new + code[found.end() :]


def laid_along(code: str, torch: bool) -> str | None:
    """`s.repeat(T, 1).view(B, T, -1)` with each sample's own row in all its positions."""
    if torch:
        pattern = r"(\w+)\.repeat\(\s*([^(),]+),\s*1\s*\)\.(?:view|reshape)\([^()]*\)"
        return _replaced(pattern, r"\1.unsqueeze(1).expand(-1, \2, -1)", code)
    pattern = r"np\.tile\(\s*(\w+),\s*\(\s*([^(),]+),\s*1\s*\)\s*\)\.reshape\([^()]*\)"
    return _replaced(pattern, r"np.repeat(\1[:, None], \2, axis=1)", code)


def with_tanh(code: str, torch: bool) -> str | None:
    """`energy = q + k` in tanh, where the sum is the whole of the right side."""
    found = re.match(r"^([\w.\[\]]+)\s*=\s*([^#=]+?)\s*(#.*)?$", code)
    if found is None or not re.search(r"\w[^*/]*\s\+\s", found[2]):
        return None
    comment = f"  {found[3]}" if found[3] else ""
    return f"{found[1]} = {'torch' if torch else 'np'}.tanh({found[2]}){comment}"


def tanh_inside(code: str) -> str | None:
    """`tanh(v(x))` and `tanh(x @ v)` as `v(tanh(x))` and `tanh(x) @ v`."""
    called = _replaced(r"((?:torch|np)\.tanh)\(([\w.]+)\(([^()]+)\)\)", r"\2(\1(\3))", code)
    return called or _replaced(r"((?:torch|np)\.tanh)\((\w+) @ ([\w.]+)\)", r"\1(\2) @ \3", code)


def transposed(code: str, axes: tuple[int, int], torch: bool) -> str | None:
    """A view or reshape as a transpose."""
    word = "transpose" if torch else "swapaxes"
    return _replaced(r"\.(?:view|reshape)\([^()]*\)", f".{word}({axes[0]}, {axes[1]})", code)


def heads_joined(code: str, torch: bool) -> str | None:
    """`.view(B, T, H * D)` of (B, H, T, D), with the transpose back before it."""
    word = "transpose" if torch else "swapaxes"
    return _replaced(r"\.(?:view|reshape)\(", f".{word}(1, 2).reshape(", code)


def heads_cut(code: str) -> str | None:
    """`.view(B, H, T, D)` as `.view(B, T, H, D).transpose(1, 2)`."""
    found = re.search(r"\.(view|reshape)\(([^,()]+),([^,()]+),([^,()]+),([^,()]+)\)", code)
    if found is None:
        return None
    batch, heads, length, dim = (part.strip() for part in found.groups()[1:])
    new = f".{found[1]}({batch}, {length}, {heads}, {dim}).transpose(1, 2)"
    return code[: found.start()] + new + code[found.end() :]


def mask_used(code: str) -> str | None:
    """A masking whose result was thrown away, with its result kept."""
    by_index = _replaced(r"(\])\[:\](\s*=)", r"\1\2", code)
    if by_index is not None:
        return by_index
    found = re.match(r"^([A-Za-z_]\w*)\.masked_fill\(", code)
    return f"{found[1]} = {code}" if found else None


def inverted_as_bool(code: str, torch: bool) -> str | None:
    """`~mask` of a mask of numbers, which is true everywhere, as that of its truth."""
    truth = "bool()" if torch else "astype(bool)"
    again = r"(?:\.bool\(\)|\.to\(torch\.bool\)|\.astype\(bool\))"
    once = _replaced(rf"\(~\s*([A-Za-z_]\w*)\){again}", rf"~\1.{truth}", code)
    return once or _replaced(r"~\s*([A-Za-z_]\w*)", rf"~\1.{truth}", code)


def mask_filled(code: str, mask: str, hides: bool, torch: bool) -> str | None:
    """`scores = scores + mask` or `scores * mask`, of a 1/0 (or 0/1) mask, as a fill with -inf."""
    found = re.match(rf"^(\w+)\s*=\s*\1\s*[+*]\s*({re.escape(mask)})\s*$", code) if mask else None
    if found is None:
        return None
    hidden = f"{mask} {'!=' if hides else '=='} 0"
    if torch:
        return f'{found[1]} = {found[1]}.masked_fill({hidden}, float("-inf"))'
    return f"{found[1]} = np.where({hidden}, -np.inf, {found[1]})"


def mask_over_keys(code: str) -> str | None:
    """A (batch, T_enc, 1) mask as (batch, 1, T_enc)."""
    by_index = _replaced(r"\[:, :, None\]", "[:, None, :]", code)
    return by_index or _replaced(r"\.unsqueeze\((?:-1|2)\)", ".unsqueeze(1)", code)


def triangle(code: str, name: str, diagonal: int, torch: bool) -> str | None:
    """The line with `tril` or `triu`, whichever stood there, from this diagonal."""
    found = re.search(r"(\.?)\btri[lu]\(", code)
    end = None if found is None else closing(code, found.end() - 1)
    if found is None or end is None:
        return None
    inside = code[found.end() : end]
    inside = re.sub(r",?\s*\b(?:diagonal|k)\s*=\s*-?\d+|,\s*-?\d+\s*$|^\s*-?\d+\s*$", "", inside)
    offset = f"{'diagonal' if torch else 'k'}={diagonal}" if diagonal else ""
    start = code[: found.start()] + found[1] + f"{name}("
    return start + ", ".join(part for part in (inside, offset) if part) + code[end:]


def triangle_of(code: str, turned: bool, torch: bool) -> str | None:
    """The right causal triangle: tril from 0 of what is visible, triu from 1 of what is hidden.

    `turned`: the code takes the one for the other.
    """
    found = re.search(r"\b(tril|triu)\(", code)
    if found is None:
        return None
    lower = (found[1] == "tril") is not turned
    return triangle(code, "tril" if lower else "triu", 0 if lower else 1, torch)


def last_layer(code: str) -> str | None:
    """`hidden[0]` as `hidden[-1]`."""
    return _replaced(r"\[0\]", "[-1]", code)
