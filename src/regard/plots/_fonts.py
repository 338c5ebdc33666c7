"""Which installed fonts can draw a set of labels. matplotlib is imported inside the functions."""

import unicodedata
import warnings
from collections.abc import Iterable

_LAST_RESORT = "Last Resort High-Efficiency"  # comes with matplotlib: a box for any character


def families_for(labels: Iterable[str], caller: str) -> list[str]:
    """Return font families, in order of preference, that together can draw the labels.

    The families that the user set up come first, and others only for the characters that these
    lack. What no installed font has is drawn as a box, with one warning that names it.
    """
    from matplotlib import rcParams

    chosen, missing = _families(frozenset("".join(labels)), tuple(rcParams["font.family"]))
    if missing:
        shown = ", ".join(f"{c} (U+{ord(c):04X})" for c in missing[:8])
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        warnings.warn(
            f"{caller}: no installed font has {shown}{more}. They are drawn as boxes. Install a "
            "font with this script (Noto, for instance: `apt install fonts-noto`, or "
            "fonts-noto-cjk for Chinese, Japanese and Korean).",
            UserWarning,
            stacklevel=3,
        )
    return chosen


def _families(
    characters: frozenset[str], preferred: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """The families, and the characters that none of them has."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    chosen = list(preferred)
    missing = {c for c in characters if not c.isspace() and unicodedata.category(c) != "Cf"}
    for family in preferred:
        missing -= _covered(findfont(FontProperties(family=[family])), missing)
    if not missing:
        return chosen, []

    # Only now look through what is installed: the regular face of each family.
    covered = {
        name: _covered(path, missing)
        for name, path in {
            font.name: font.fname
            for font in fontManager.ttflist
            if (font.style, font.stretch) == ("normal", "normal")
            and font.weight in (400, "normal", "regular")
        }.items()
        if name != _LAST_RESORT
    }
    # Most of the missing characters first; of equals a Noto, a sans serif, then the alphabet.
    while missing and covered:
        best = min(
            covered,
            key=lambda name: (
                -len(covered[name] & missing),
                not name.startswith("Noto Sans"),
                "Serif" in name or "Mono" in name,
                name,
            ),
        )
        if not covered[best] & missing:
            break
        chosen.append(best)
        missing -= covered.pop(best)
    return [*chosen, *([_LAST_RESORT] if missing else [])], sorted(missing)


def _covered(path: str, characters: Iterable[str]) -> set[str]:
    from matplotlib.font_manager import get_font

    try:
        font = get_font(path)
    except (OSError, RuntimeError):  # a format that matplotlib cannot draw, as colour emoji
        return set()
    return {c for c in characters if font.get_char_index(ord(c))}
