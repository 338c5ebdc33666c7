"""The one colour scale of every plot: from near white (weight 0) to deep blue (weight 1).

On a dark page the same hues run the other way, from the page's dark to near white, so that there
too a cell that stands out is a large weight.

256 colours at equal distances in OKLab (https://bottosson.github.io/posts/oklab/) along a curve
that only ever gets darker: equal differences of weight look equal, and a print in gray keeps their
order. Computed here, so that the terminal has the same colours as the figures without matplotlib.
"""

from functools import cache

import numpy as np
from jaxtyping import Float, Float64, UInt8

# The curves pass through these colours.
_ANCHORS = ("#f7f8f4", "#cdebd9", "#7accc4", "#2b9bbd", "#205fa6", "#1d2a70")
_ANCHORS_ON_DARK = ("#171c27", "#1f3a7d", "#2b84b5", "#7accc4", "#f7f8f4")

# Linear sRGB to cone responses, and their cube roots to OKLab: the published matrices.
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(srgb: Float64[np.ndarray, "*n 3"]) -> Float64[np.ndarray, "*n 3"]:
    """Undo the gamma of sRGB values in 0..1."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def oklab(srgb: Float64[np.ndarray, "*n 3"]) -> Float64[np.ndarray, "*n 3"]:
    """Lightness, green-red and blue-yellow of sRGB values in 0..1."""
    lab: np.ndarray = np.cbrt(linear(srgb) @ _TO_LMS.T) @ _TO_LAB.T
    return lab


def _srgb(lab: Float64[np.ndarray, "*n 3"]) -> Float64[np.ndarray, "*n 3"]:
    light = (lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_LMS).T
    light = np.clip(light, 0.0, 1.0)
    srgb: np.ndarray = np.where(
        light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055
    )
    return srgb


@cache
def scale() -> UInt8[np.ndarray, "256 3"]:
    """Return the 256 colours as 8-bit sRGB, weight 0 first."""
    return _even_steps(_ANCHORS)


@cache
def scale_on_dark() -> UInt8[np.ndarray, "256 3"]:
    """Return the 256 colours for a dark page, weight 0 first: they only ever get lighter."""
    return _even_steps(_ANCHORS_ON_DARK)


def _even_steps(through: tuple[str, ...]) -> UInt8[np.ndarray, "256 3"]:
    anchors = np.array([list(bytes.fromhex(colour[1:])) for colour in through]) / 255
    points = oklab(anchors)
    # A smooth curve: the one polynomial through all anchors, each placed by its distance.
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    places = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
    fine = np.linspace(0.0, 1.0, 4096)
    curve = np.stack(
        [np.polyval(np.polyfit(places, axis, len(through) - 1), fine) for axis in points.T], axis=1
    )
    # Walk it in equal strides.
    walked = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    even = np.interp(np.linspace(0.0, walked[-1], 256), walked, fine)
    curve = np.stack([np.interp(even, fine, axis) for axis in curve.T], axis=1)
    colours = np.round(_srgb(curve) * 255).astype(np.uint8)
    colours.setflags(write=False)
    return colours


def paper_and_ink(weight: float) -> tuple[str, str]:
    """Return a cell's colour and the colour of text that is legible on it, as ``#rrggbb``.

    >>> paper_and_ink(0.0)
    ('#f7f8f4', '#000000')
    """
    paper = scale()[round(min(max(weight, 0.0), 1.0) * 255)]
    return "#" + paper.tobytes().hex(), ink_on(paper)


def ink_on(paper: UInt8[np.ndarray, "3"]) -> str:
    """Return black or white, whichever stands out more.

    >>> ink_on(np.array([255, 255, 0], np.uint8))
    '#000000'
    """
    light = luminance(paper / 255.0)
    # Contrast as WCAG counts it: the larger ratio of the two.
    return "#000000" if (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) else "#ffffff"


def luminance(srgb: Float[np.ndarray, "3"]) -> float:
    """Relative luminance of one sRGB colour in 0..1, as WCAG defines it."""
    return float(linear(srgb) @ np.array([0.2126, 0.7152, 0.0722]))
