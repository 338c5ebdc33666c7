"""A scale in words, and a line with the right one."""

import re

from regard.doctor.comparison.anatomy import Anatomy
from regard.doctor.probe import Inputs


def named_scale(scale: float, anatomy: Anatomy, inputs: Inputs) -> str | None:
    """A scale in words: by 1/d, by sqrt(d_model) ... None where it is no known one."""
    widths = {
        "d_k": anatomy.parts.head_dim,
        "d_model": anatomy.parts.query.shape[-1],
        "d_s": inputs.query.shape[-1],
        "d_h": inputs.keys.shape[-1],
        "d_v": inputs.values.shape[-1],
        "T_enc": inputs.keys.shape[1],
        "T_dec": inputs.query.shape[1],
        "batch": inputs.query.shape[0],
        "heads": anatomy.parts.num_heads,
    }
    if abs(scale - 1.0) < 1e-3:
        return "by nothing"
    for name, size in widths.items():
        for said, power in (
            (f"1/{name}", -1.0),
            (f"1/sqrt({name})", -0.5),
            (f"sqrt({name})", 0.5),
            (name, 1.0),
            (f"{name}**-0.25", -0.25),
            (f"{name}**-1.5", -1.5),
        ):
            if size > 1 and abs(scale - size**power) < 1e-3 * size**power:
                return f"by {said} = {scale:.4g}"
    if scale < 0 and abs(scale + 1.0) < 1e-3:
        return "by -1"
    return None


def scaled_rightly(line: str, right: float, width: int, query: str) -> str:
    """The line with the right scale, or one line of advice.

    `query` is what the line calls the array whose last axis is d_k, "" where it names none.
    """
    if query:
        for module in ("math", "np", "torch"):
            root = rf"{module}\.sqrt\((?:[^()]|\([^()]*\))*\)"
            changed, count = re.subn(
                rf"[/*]\s*{root}", f"/ {query}.shape[-1] ** 0.5", line, count=1
            )
            if count and changed != line:
                return changed
    for wrong, new in (
        (r"/\s*\(?(\w+(?:\.\w+)*(?:\([^()]*\)|\[[^\]]*\])?)\s*\*\*\s*-0?\.5\)?", r"* \1 ** -0.5"),
        (r"\*\s*(math|np)\.sqrt\(", r"/ \1.sqrt("),
        (r"/\s*(d_k|d|dim|head_dim|d_model|\w+\.shape\[-1\]|\w+\.size\(-1\))\s*$", r"/ \1 ** 0.5"),
    ):
        changed, count = re.subn(wrong, new, line, count=1)
        if count:
            return changed
    assigned = re.match(r"^(\w+)\s*=\s*(.+)$", line)
    if assigned and query and "sqrt" not in line and "/" not in line:
        return f"{assigned[1]} = {assigned[2]} / {query}.shape[-1] ** 0.5"
    return f"Divide the scores by sqrt(d_k), here sqrt({width})."


_FACTOR = re.compile(
    r"\s*[*/]\s*(?:"
    r"\(?(?:[A-Za-z_][\w.]*(?:\([^()]*\)|\[[^\[\]]*\])*|\d+)\s*\*\*\s*\(?-?\s*\d*\.\d+\)?\)?"
    r"|(?:math|np|torch)\.sqrt\((?:[^()]|\([^()]*\))*\)"
    r")\s*$"
)


def rescaled(line: str, right: float) -> str:
    """The line with a number as its scale, or one line of advice."""
    factor = "" if right == 1.0 else f" * {right:g}"
    assigned = re.match(r"^(\w+\s*=\s*)(.+)$", line)
    if assigned is not None and "#" not in line:
        bare, count = _FACTOR.subn("", assigned[2], count=1)
        if count or (factor and re.search(r"[@(]", bare) and not re.search(r"[*/+-]", bare)):
            return f"{assigned[1]}{bare}{factor}"
    return f"Multiply the scores by {right:g} alone." if factor else "Leave the scores unscaled."
