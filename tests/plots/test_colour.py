"""The colour scale keeps its promises: even steps, always darker, legible text."""

import numpy as np
import pytest

from regard.plots._colour import ink_on, luminance, oklab, paper_and_ink, scale, scale_on_dark


def rgb(colour: str) -> np.ndarray:
    return np.array(list(bytes.fromhex(colour[1:]))) / 255


def test_equal_differences_of_weight_look_equal():
    # Steps of 32, because a single one is near the rounding of 8-bit colours.
    steps = np.linalg.norm(np.diff(oklab(scale()[::32] / 255), axis=0), axis=1)
    assert steps.max() < 1.1 * steps.min()


def test_it_gets_darker_all_the_way_also_in_gray():
    lightness = oklab(scale() / 255)[:, 0]
    assert (np.diff(lightness[::4]) < 0).all()
    gray = scale() @ np.array([0.299, 0.587, 0.114])
    assert (np.diff(gray[::4]) < 0).all()
    assert gray[0] > 240
    assert gray[-1] < 60


def test_the_ends_are_the_chosen_colours():
    assert paper_and_ink(0.0)[0] == "#f7f8f4"
    assert paper_and_ink(1.0)[0] == "#1d2a70"


def test_text_is_legible_on_every_colour():
    for weight in np.linspace(0, 1, 256):
        dark, light = sorted(luminance(rgb(colour)) for colour in paper_and_ink(float(weight)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_on_a_dark_page_it_gets_lighter_all_the_way_in_even_steps():
    colours = oklab(scale_on_dark() / 255)
    assert (np.diff(colours[::4, 0]) > 0).all()
    steps = np.linalg.norm(np.diff(colours[::32], axis=0), axis=1)
    assert steps.max() < 1.1 * steps.min()
    assert bytes(scale_on_dark()[0]).hex() == "171c27"
    assert bytes(scale_on_dark()[255]).hex() == "f7f8f4"
    for paper in scale_on_dark():
        dark, light = sorted((luminance(paper / 255), luminance(rgb(ink_on(paper)))))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_oklab_agrees_with_published_values():
    # https://bottosson.github.io/posts/oklab/: white, and CSS Color 4's pure red.
    assert oklab(np.array([[1.0, 1.0, 1.0]]))[0] == pytest.approx([1, 0, 0], abs=1e-4)
    assert oklab(np.array([[1.0, 0.0, 0.0]]))[0] == pytest.approx(
        [0.62796, 0.22486, 0.12585], abs=1e-4
    )
