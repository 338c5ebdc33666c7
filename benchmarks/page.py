"""``python -m benchmarks.page``: the page of `plots.page` beside other viewers, offline.

Size of the file; seconds from opening it until it last changed, in Chromium whose network is
blocked; how much of the window is drawn on; and how many weights can be read by a screen reader.
``--pictures FOLDER`` also takes the pictures of the documentation.
"""

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image, ImageChops
from playwright.sync_api import Browser, sync_playwright

from regard import plots
from regard.recording import Trace

PEERS = Path(__file__).parent / "peers"
VIEWERS = Path("/tmp/viewers-venv/bin/python")
SIZES = ((12, 1), (64, 8), (256, 8))  # positions, heads
WINDOW = {"width": 1280, "height": 800}

# Runs before the page's own scripts: when did the document last change?
WATCH = """
window.lastChange = 0;
new MutationObserver(() => { window.lastChange = performance.now(); })
  .observe(document, { childList: true, subtree: true, attributes: true });
"""


class Opening(NamedTuple):
    seconds: float  # from opening the file until the document last changed
    blocked: int  # requests to elsewhere
    drawn: float  # share of the window that is not background
    heard: int  # numbers in the accessibility tree


def made_up(length: int, num_heads: int) -> torch.Tensor:
    """Heads around the diagonal, from sharp to blurred, with noise: (heads, query, key)."""
    generator = torch.Generator().manual_seed(0)
    place = torch.arange(length)
    distance = (place[:, None] - place).abs() * 12.0 / length
    sharp = torch.linspace(6.0, 0.5, num_heads)[:, None, None]
    noise = torch.randn(num_heads, length, length, generator=generator)
    return (1.2 * noise - sharp * distance).softmax(-1)


def write_ours(weights: torch.Tensor, tokens: list[str], path: Path) -> None:
    plots.page(Trace.of_weights("layer", weights[None], [tokens], [tokens]), path)


def write_theirs(script: str, python: Path) -> Callable[[torch.Tensor, list[str], Path], None]:
    def write(weights: torch.Tensor, tokens: list[str], path: Path) -> None:
        given = path.with_suffix(".npz")
        np.savez(given, weights=weights.numpy(), tokens=tokens)
        subprocess.run([python, PEERS / script, given, path], check=True, capture_output=True)

    return write


def opened(browser: Browser, path: Path) -> Opening:
    context = browser.new_context(viewport=WINDOW)
    blocked: list[str] = []

    def decide(route: Any) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            blocked.append(route.request.url)
            route.abort()

    context.route("**/*", decide)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(path.as_uri())
    quiet = "() => performance.now() - window.lastChange > 700"
    page.wait_for_function(quiet, polling=100, timeout=120_000)
    milliseconds = page.evaluate(
        "Math.max(lastChange, performance.getEntriesByType('navigation')[0].loadEventEnd)"
    )
    picture = path.with_suffix(".png")
    page.screenshot(path=picture)
    heard = len(re.findall(r"(?:^|[ \"])[01]\.\d{2,}", page.locator("body").aria_snapshot()))
    context.close()
    return Opening(milliseconds / 1000, len(blocked), _drawn(picture), heard)


def _drawn(picture: Path) -> float:
    with Image.open(picture) as image:
        shown = image.convert("RGB")
    background = Image.new("RGB", shown.size, shown.getpixel((2, 2)))
    return float(np.asarray(ImageChops.difference(shown, background)).any(axis=2).mean())


def compare(browser: Browser, python: Path, rounds: int) -> None:
    contestants = {"regard": write_ours}
    if python.exists():
        contestants["bertviz"] = write_theirs("bertviz_page.py", python)
        contestants["treescope"] = write_theirs("treescope_page.py", python)
    else:
        print(f"No viewers at {python}: ours alone. benchmarks/peers/README.md makes them.")
    print(f"{'size':>12} {'viewer':10} {'kB':>8} {'seconds until still':>22} blocked drawn heard")
    with tempfile.TemporaryDirectory() as folder:
        for length, num_heads in SIZES:
            weights = made_up(length, num_heads)
            tokens = [f"token{i}" for i in range(length)]
            paths = {name: Path(folder) / f"{name}{length}.html" for name in contestants}
            for name, write in contestants.items():
                write(weights, tokens, paths[name])
            openings: dict[str, list[Opening]] = {name: [] for name in contestants}
            for _ in range(rounds):  # in turn, so that the machine's moods fall on all alike
                for name, path in paths.items():
                    openings[name].append(opened(browser, path))
            for name, each in openings.items():
                seconds = [opening.seconds for opening in each]
                spread = f"{median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"
                size = paths[name].stat().st_size / 1000
                _, blocked, drawn, heard = each[0]
                print(
                    f"{f'{length}x{length}x{num_heads}':>12} {name:10} {size:8,.0f} {spread:>22} "
                    f"{blocked:7} {drawn:5.0%} {heard:5}"
                )


def take_pictures(browser: Browser, folder: Path, model: str | None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        words = Path(scratch) / "words.html"
        if model is not None:
            write_words(model, words)
        heads = Path(scratch) / "heads.html"
        tokens = [f"t{i}" for i in range(24)]
        trace = Trace.of_weights("layer", made_up(24, 8)[None], [tokens], [tokens])
        plots.page(trace, heads, title="Made-up weights in 8 heads")
        main = words if model is not None else heads
        _picture(browser, main, folder / "page-desktop.png", viewport=WINDOW)
        _picture(browser, heads, folder / "page-dark.png", viewport=WINDOW, color_scheme="dark")
        phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
        _picture(browser, main, folder / "page-phone.png", **phone)
        keys = ("ArrowDown",) * 4 + ("ArrowRight",) * 4
        _picture(browser, main, folder / "page-keyboard.png", keys, viewport=WINDOW)


def write_words(model: str, path: Path) -> None:
    """What a pronunciation model attends to, in some words."""
    from regard.models import Translator
    from regard.search import predict

    translator = Translator.from_pretrained(model)
    words = ["acknowledgement", "pronunciation", "thoroughly", "chrysanthemum"]
    targets = [found.target for found in predict(translator, words)]
    weights = [translator.align(*pair) for pair in zip(words, targets, strict=True)]
    longest = [max(each.shape[axis] for each in weights) for axis in (0, 1)]
    batch = torch.zeros(len(words), *longest)
    for place, each in enumerate(weights):
        batch[place, : each.shape[0], : each.shape[1]] = each
    cut = [target.split() for target in targets]
    trace = Trace.of_weights("decoder", batch, cut, [list(word) for word in words])
    plots.page(trace, path, title="Letters and sounds: what a pronunciation model attends to")


def _picture(
    browser: Browser, page_path: Path, path: Path, keys: tuple[str, ...] = (), **options: Any
) -> None:
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(page_path.as_uri())
    page.wait_for_selector("[role=gridcell].active")
    if keys:
        page.locator("[role=gridcell].active").focus()
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(400)
    page.screenshot(path=path)
    context.close()
    with Image.open(path) as image:
        image.load()
    image.convert("RGB").save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers-python", type=Path, default=VIEWERS)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pictures", type=Path, help="folder for the pictures; measures nothing")
    parser.add_argument("--model", help="folder of a pronunciation model, for the pictures")
    arguments = parser.parse_args()
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=sandbox)
        if arguments.pictures is None:
            compare(browser, arguments.viewers_python, arguments.rounds)
        else:
            take_pictures(browser, arguments.pictures, arguments.model)
        browser.close()


if __name__ == "__main__":
    main()
