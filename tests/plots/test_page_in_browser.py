"""The page of `plots.page`, opened in Chromium: by mouse, by keyboard and by what is heard."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from regard import plots
from regard.plots._colour import luminance, paper_and_ink
from regard.recording.trace import Trace
from tests.plots.traces import ARABIC, ENGLISH, GERMAN, HEBREW, softmax, two_sites

pytestmark = pytest.mark.slow  # a browser starts, and pages are drawn


class Opened:
    """A page, with all that it asked for and all that it complained about."""

    def __init__(self, context, path: Path) -> None:
        self.path = path
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("[role=gridcell].active")

    def cells(self) -> dict[tuple[int, int], tuple[str, str]]:
        """What is heard and what is seen of every real cell, by its place as drawn."""
        found = self.page.evaluate(
            """() => [...document.querySelectorAll("[role=gridcell]")].map((cell) => [
                 Number(cell.parentElement.getAttribute("aria-rowindex")) - 2,
                 Number(cell.getAttribute("aria-colindex")) - 2,
                 cell.getAttribute("aria-label"), cell.textContent])"""
        )
        return {(row, column): (heard, seen) for row, column, heard, seen in found}

    def focused(self) -> str:
        return self.page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''")

    def enter_grid(self) -> None:
        """By Tab alone, from the top of the page."""
        for _ in range(20):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("document.activeElement.role") == "gridcell":
                return
        raise AssertionError("Tab never reached the grid")

    def press(self, keys: str) -> str:
        self.page.keyboard.press(keys)
        return self.focused()

    def choose_head(self, name: str) -> None:
        self.page.get_by_role("radio", name=name).check()
        self.page.wait_for_function(
            "name => document.getElementById('status').textContent.includes(name)",
            arg="mean of" if name == "mean" else f"head {name}",
        )

    def saved(self, button: str) -> bytes:
        with self.page.expect_download() as waiting:
            self.page.get_by_role("button", name=button).click()
        return Path(waiting.value.path()).read_bytes()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "small.html"
    plots.page(two_sites(), path, title="An agreement")
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "large.html"
    queries, keys = ([f"{name}{i}" for i in range(256)] for name in "qk")
    trace = Trace.of_weights("layer", softmax(1, 8, 256, 256, sharp=4.0), [queries], [keys])
    plots.page(trace, path)
    return path


@pytest.fixture
def context(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield context
    context.close()


def heard(weight: float) -> str:
    """As the page says it: four decimals, or three figures of what is smaller."""
    if weight == 0:
        return "0"
    if weight >= 0.001:
        return f"{weight:.4f}"
    figures, exponent = f"{weight:.2e}".split("e")
    return f"{figures}e{int(exponent)}"


def seen(weight: float) -> str:
    text = f"{weight:.2f}"
    return "·" if text == "0.00" else text.removeprefix("0")


def check_cells(opened: Opened, weights, queries, keys) -> None:
    cells = opened.cells()
    assert len(cells) == len(queries) * len(keys)
    for (i, j), (says, shows) in cells.items():
        weight = float(weights[i, j])
        assert says == f"query {i} {queries[i]}, key {j} {keys[j]}, weight {heard(weight)}"
        assert shows == seen(weight)


def test_nothing_is_asked_for_but_the_file_and_nothing_is_complained_about(context, small):
    opened = Opened(context, small)
    for name in ("0", "1", "2", "mean"):
        opened.choose_head(name)
    opened.page.select_option("#example", "1")
    opened.page.select_option("#site", "1")
    opened.page.emulate_media(color_scheme="dark")
    opened.page.set_viewport_size({"width": 390, "height": 844})
    opened.saved("Save CSV")
    opened.saved("Save PNG")
    asked = [url for url in opened.requests if not url.startswith(("data:", "blob:"))]
    assert asked == [small.as_uri()]
    assert opened.complaints == []


def test_the_policy_stops_a_request_and_a_foreign_script(context, small):
    opened = Opened(context, small)
    stopped = opened.page.evaluate(
        """async () => {
             const stopped = [];
             document.addEventListener("securitypolicyviolation",
               (event) => stopped.push(event.effectiveDirective));
             const script = document.createElement("script");
             script.textContent = "window.foreign = 1";
             document.body.append(script);
             new Image().src = "https://example.org/a.png";
             await fetch("https://example.org/").catch(() => 0);
             await new Promise((done) => setTimeout(done, 100));
             return [window.foreign ?? 0, stopped.sort()];
           }"""
    )
    assert stopped == [0, ["connect-src", "img-src", "script-src-elem"]]


def test_shown_values_equal_the_tensor_in_every_head_and_in_the_mean(context, small):
    weights = two_sites()["decoder.cross"].weights.double().numpy()
    opened = Opened(context, small)
    check_cells(opened, weights[0].mean(axis=0), GERMAN, ENGLISH)
    for head in range(3):
        opened.choose_head(str(head))
        check_cells(opened, weights[0, head], GERMAN, ENGLISH)
    opened.page.select_option("#example", "1")
    opened.page.wait_for_selector("[aria-label*='الاتفاقية']")
    check_cells(opened, weights[1, 2], ARABIC, HEBREW)
    assert "3 queries and 4 keys" in opened.page.locator("#left-out").inner_text()
    opened.page.select_option("#site", "1")
    opened.page.wait_for_selector("[aria-label^='query 3 3']")
    numbered = [str(i) for i in range(6)]
    check_cells(opened, two_sites()["encoder"].weights[1, 0], numbered[:4], numbered)
    assert opened.page.locator("#heads").is_hidden()


def test_the_keyboard_reaches_every_cell(context, small):
    opened = Opened(context, small)
    opened.enter_grid()
    for i, query in enumerate(GERMAN):
        columns = range(7) if i % 2 == 0 else range(6, -1, -1)
        for step, j in enumerate(columns):
            if step:
                opened.press("ArrowRight" if i % 2 == 0 else "ArrowLeft")
            assert opened.focused().startswith(f"query {i} {query}, key {j} {ENGLISH[j]}, ")
        opened.press("ArrowDown")
    # At the edge a key does nothing.
    assert opened.focused().startswith("query 4 .")
    assert opened.press("Home").startswith("query 4 ., key 0 the, ")
    assert opened.press("ArrowLeft").startswith("query 4 ., key 0 the, ")
    assert opened.press("End").startswith("query 4 ., key 6 ")
    assert opened.press("Control+Home").startswith("query 0 das, key 0 ")
    assert opened.press("PageDown").startswith("query 4 ., key 0 ")
    assert opened.press("PageUp").startswith("query 0 das, key 0 ")


def test_the_keyboard_reaches_the_corners_and_any_cell_of_a_large_grid(context, large):
    weights = softmax(1, 8, 256, 256, sharp=4.0)[0].double().mean(dim=0)
    opened = Opened(context, large)
    opened.enter_grid()

    def says(i: int, j: int) -> str:
        return f"query {i} q{i}, key {j} k{j}, weight {heard(float(weights[i, j]))}"

    assert opened.press("Control+End") == says(255, 255)
    assert opened.press("Home") == says(255, 0)
    assert opened.press("Control+Home") == says(0, 0)
    assert opened.press("End") == says(0, 255)
    for _ in range(9):
        opened.press("PageDown")
    for _ in range(60):
        opened.press("ArrowLeft")
    assert opened.focused() == says(90, 195)
    # It is in sight, and so are its labels.
    box = opened.page.locator("[role=gridcell]:focus").bounding_box()
    around = opened.page.locator("#scroller").bounding_box()
    assert around["x"] <= box["x"] <= around["x"] + around["width"] - box["width"]
    assert around["y"] <= box["y"] <= around["y"] + around["height"] - box["height"]
    assert opened.page.locator(".here").all_inner_texts() == ["k195", "q90"]
    # Few elements for 65,536 cells, also when all are in sight.
    opened.page.locator("#zoom").fill("2")
    opened.page.wait_for_function("() => document.getElementById('cells').style.width === '512px'")
    assert opened.page.evaluate("document.querySelectorAll('*').length") < 6000
    opened.page.locator("[role=gridcell].active").focus()
    assert opened.press("ArrowLeft") == says(90, 194)
    assert opened.press("Control+End") == says(255, 255)


def test_scrolling_away_keeps_the_focus_and_its_cell(context, large):
    opened = Opened(context, large)
    opened.enter_grid()
    opened.page.evaluate("document.getElementById('scroller').scrollTo(2000, 2500)")
    opened.page.wait_for_selector("[aria-label^='query 170 ']")
    assert opened.focused().startswith("query 0 q0, key 0 k0,")
    assert opened.press("ArrowDown").startswith("query 1 q1, key 0 k0,")
    assert opened.page.evaluate("document.getElementById('scroller').scrollTop") <= 16


def test_the_mouse_looks_and_chooses(context, small):
    opened = Opened(context, small)
    cell = opened.page.locator("[aria-label^='query 2 über, key 4 Economic']")
    cell.hover()
    assert opened.page.locator("#detail-query").inner_text() == "über 2"
    assert opened.page.locator("#detail-key").inner_text() == "Economic 4"
    opened.page.mouse.move(5, 5)
    assert opened.page.locator("#detail-query").inner_text() == "das 0"
    cell.click()
    assert opened.focused().startswith("query 2 über, key 4 Economic")


def test_the_detail_ranks_the_keys(context, small):
    row = two_sites()["decoder.cross"].weights[0, 1, 0].tolist()
    opened = Opened(context, small)
    opened.choose_head("1")
    lines = opened.page.locator("#detail-keys li").all_inner_texts()
    expected = sorted(range(7), key=lambda j: -row[j])[:6]
    assert [line.split() for line in lines] == [
        [*ENGLISH[j].split(), heard(row[j])] for j in expected
    ]
    rank = 1 + sum(weight > row[0] for weight in row)
    says = opened.page.locator("#detail-rank").inner_text()
    assert says == f"rank {rank} of 7 keys; row sum 1.0000"


def test_a_threshold_hides_what_is_below_and_says_how_many(context, small):
    weights = two_sites()["decoder.cross"].weights[0, 0].numpy()
    opened = Opened(context, small)
    opened.choose_head("0")
    opened.page.locator("#threshold").fill("0.1")
    left = int((weights >= 0.1).sum())
    opened.page.wait_for_function(
        "says => document.getElementById('status').textContent.endsWith(says)",
        arg=f"{left} of 35 weights are 0.1 or more",
    )
    for (i, j), (says, shows) in opened.cells().items():
        hidden = weights[i, j] < 0.1
        assert says.endswith(", hidden") == hidden
        assert shows == ("" if hidden else seen(float(weights[i, j])))


def test_keys_are_sorted_by_the_weight_they_receive(context, small):
    weights = two_sites()["decoder.cross"].weights[0, 2].double().numpy()
    opened = Opened(context, small)
    opened.choose_head("2")
    opened.page.select_option("#order", "received")
    order = np.argsort(-weights.sum(axis=0))
    opened.page.wait_for_function(
        "label => document.querySelector('.key-label').textContent === label",
        arg=ENGLISH[order[0]],
    )
    assert opened.page.locator(".key-label").all_inner_texts() == [ENGLISH[j] for j in order]
    for (i, column), (says, _) in opened.cells().items():
        j = order[column]
        expected = f"query {i} {GERMAN[i]}, key {j} {ENGLISH[j]}, weight {heard(weights[i, j])}"
        assert says == expected


def table_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


def test_the_saved_table_is_the_tensor(context, small):
    weights = two_sites()["decoder.cross"].weights
    opened = Opened(context, small)
    opened.choose_head("2")
    opened.page.locator("#threshold").fill("0.5")  # neither what is hidden
    opened.page.select_option("#order", "received")  # nor the order changes the table
    rows = table_of(opened.saved("Save CSV"))
    numbers = torch.tensor([float(row["weight"]) for row in rows]).reshape(5, 7)
    assert torch.equal(numbers, weights[0, 2])  # as 32-bit numbers, every bit
    places = [(int(row["query"]), int(row["key"])) for row in rows]
    assert places == [(i, j) for i in range(5) for j in range(7)]
    assert [row["key_token"] for row in rows[:7]] == ENGLISH
    assert [row["query_token"] for row in rows[::7]] == GERMAN
    opened.choose_head("mean")
    rows = table_of(opened.saved("Save CSV"))
    means = np.array([float(row["weight"]) for row in rows]).reshape(5, 7)
    np.testing.assert_allclose(means, weights[0].double().mean(dim=0), rtol=1e-15)


def rgb(weight: float) -> np.ndarray:
    return np.array(list(bytes.fromhex(paper_and_ink(float(weight))[0][1:])))


def test_the_saved_picture_has_the_colours_of_the_weights(context, small):
    weights = two_sites()["decoder.cross"].weights[0, 1].double().numpy()
    opened = Opened(context, small)
    opened.choose_head("1")
    picture = Image.open(io.BytesIO(opened.saved("Save PNG"))).convert("RGB")
    pixels = np.asarray(picture, dtype=int)
    # The cells are squares of 44; where they are is found by the darkest.
    paper = rgb(weights.max())
    rows, columns = np.nonzero((np.abs(pixels - paper) <= 1).all(axis=2))
    i, j = np.unravel_index(weights.argmax(), weights.shape)
    top, left = rows.min() - 44 * i, columns.min() - 44 * j
    for (row, column), weight in np.ndenumerate(weights):
        at = pixels[top + 44 * row + 22, left + 44 * column + 22]
        assert np.abs(at - rgb(weight)).max() <= 1


def test_the_accessibility_tree_has_the_grid_with_its_rows_and_cells(context, small):
    opened = Opened(context, small)
    opened.page.select_option("#example", "1")
    opened.choose_head("0")
    weights = two_sites()["decoder.cross"].weights[1, 0].tolist()
    snapshot = opened.page.get_by_role("grid").aria_snapshot()
    lines = [re.sub(r" \[active\]|:$|^ *- |'", "", line) for line in snapshot.splitlines()]
    expected = ['grid "Weights: decoder.cross, head 0, example 1"']
    expected += [f'row "keys → queries ↓ {" ".join(HEBREW)}"', 'columnheader "keys → queries ↓"']
    assert lines[:3] == expected
    cells = [line for line in lines if line.startswith("gridcell")]
    assert [re.sub(r'^gridcell "|".*$', "", cell) for cell in cells] == [
        f"query {i} {query}, key {j} {key}, weight {heard(weights[i][j])}"
        for i, query in enumerate(ARABIC)
        for j, key in enumerate(HEBREW)
    ]
    assert [line for line in lines if line.startswith("rowheader")] == [
        f'rowheader "{query}"' for query in ARABIC
    ]
    whole = opened.page.locator("body").aria_snapshot()
    for part in (
        'heading "An agreement" [level=1]',
        "status:",
        'combobox "Layer"',
        'combobox "Example"',
        'group "Head"',
        'radio "mean"',
        'button "Save CSV"',
        'slider "Hide weights below 0"',
    ):
        assert part in whole


def test_tokens_keep_their_own_direction(context, small):
    opened = Opened(context, small)
    opened.page.select_option("#example", "1")
    opened.page.wait_for_selector("[aria-label*='الاتفاقية']")
    directions = opened.page.evaluate(
        """() => [...document.querySelectorAll(".query-label bdi, .key-label bdi")].map((label) =>
             [label.textContent, getComputedStyle(label).direction])"""
    )
    assert dict(directions) == {
        **{word: "rtl" for word in [*ARABIC, HEBREW[0]]},
        "a,b": "ltr",
        "日本": "ltr",
    }


@pytest.mark.parametrize("path", ["small", "large"])
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_axe_finds_nothing(browser, request, path, look):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    desktop = {"viewport": {"width": 1280, "height": 800}}
    context = browser.new_context(
        color_scheme="dark" if look == "dark" else "light",
        **(phone if look == "phone" else desktop),
    )
    opened = Opened(context, request.getfixturevalue(path))
    opened.enter_grid()
    found = axe.Axe().run(opened.page)
    context.close()
    violations = found.response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []
    assert len(found.response["passes"]) > 20


def test_a_phone_scrolls_the_grid_and_not_the_page_sideways(browser, large):
    context = browser.new_context(viewport={"width": 360, "height": 740}, is_mobile=True)
    opened = Opened(context, large)
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 360
    context.close()


def test_who_wants_no_motion_gets_none(browser, small):
    moves = {}
    for wish in ("reduce", "no-preference"):
        context = browser.new_context(reduced_motion=wish)
        opened = Opened(context, small)
        moves[wish] = opened.page.evaluate(
            "getComputedStyle(document.querySelector('.bar')).transitionDuration"
        )
        context.close()
    assert moves == {"reduce": "0s", "no-preference": "0.12s"}


def test_dark_pages_are_dark_and_text_in_cells_is_legible(browser, small):
    for scheme, darkest in (("light", False), ("dark", True)):
        context = browser.new_context(color_scheme=scheme)
        opened = Opened(context, small)
        body, *cells = opened.page.evaluate(
            """() => [document.body, ...document.querySelectorAll(".cell")].map((element) => {
                 const style = getComputedStyle(element);
                 return [style.backgroundColor, style.color].map((colour) =>
                   colour.match(/[0-9.]+/g).slice(0, 3).map(Number));
               })"""
        )
        assert (sum(body[0]) < 150) == darkest
        for paper, ink in cells:
            dark, light = sorted(luminance(np.array(colour) / 255) for colour in (paper, ink))
            assert (light + 0.05) / (dark + 0.05) >= 4.5
        context.close()
