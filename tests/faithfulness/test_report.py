"""The report as JSON, in a terminal, and as a page that loads nothing."""

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console

from regard.faithfulness import Claim, Estimate, Histogram, Interval, Report, Section
from regard.faithfulness.figures import forest
from regard.faithfulness.page import page

NAN = float("nan")
REPORT = Report(
    "Weights are evidence for <something>.",
    (Claim("layer", "not evidence", "Because 1 < 2 & 3."), Claim("seeds", "partly", "So so.")),
    (
        Section(
            "adversary",
            "Would others do?",
            "Weights are changed.",
            "divergence",
            {
                "found": Estimate(0.25, Interval(0.2, 0.3), Interval(0.1, 0.4), 7),
                "below <0": Estimate(-0.5, Interval(-0.625, -0.375), None, 6),
                "nowhere": Estimate(NAN, Interval(NAN, NAN), None, 0),
            },
            Histogram("decisions", (0.0, 0.5, 1.0), (3, 9), {"ln 2": 0.693}),
        ),
    ),
    {"seed": 1},
)


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def all(self, tag, kind=None):
        return [a for t, a in self.found if t == tag and (kind is None or a.get("class") == kind)]


@pytest.fixture(scope="module")
def elements():
    return Elements(page(REPORT))


def test_json_has_every_number_and_no_nan():
    told = json.loads(json.dumps(REPORT.to_json(), allow_nan=False))
    estimates = told["sections"][0]["estimates"]
    assert estimates["found"] == {
        "value": 0.25,
        "over_examples": {"low": 0.2, "high": 0.3},
        "over_trainings": {"low": 0.1, "high": 0.4},
        "num_examples": 7,
    }
    assert estimates["nowhere"]["value"] is None
    assert told["claims"][1] == {"name": "seeds", "grade": "partly", "sentence": "So so."}
    assert told["settings"] == {"seed": 1}


def test_a_section_is_found_by_its_name():
    assert REPORT.section("adversary").unit == "divergence"
    with pytest.raises(KeyError, match="erasure"):
        REPORT.section("erasure")


def test_the_terminal_shows_the_verdict_before_the_numbers():
    written = io.StringIO()
    Console(file=written, width=90).print(REPORT)
    text = written.getvalue()
    assert text.index("evidence for <something>") < text.index("layer: not evidence")
    assert text.index("layer: not evidence") < text.index("Would others do?")
    line = next(line for line in text.splitlines() if "found" in line)
    assert line.split() == ["found", "0.250", "0.200", "to", "0.300", "0.100", "to", "0.400", "7"]
    assert "seed: 1" in text


def test_the_page_asks_for_nothing_from_anywhere(elements):
    text = page(REPORT)
    assert not re.search(r"https?:|//|url\(|@import", text)
    for tag in ("script", "link", "img", "iframe", "a", "form"):
        assert not elements.all(tag)
    assert not any("style" in attributes or "src" in attributes for _, attributes in elements.found)
    policy = next(a["content"] for a in elements.all("meta") if "http-equiv" in a)
    style = re.search(r"<style>(.*)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")


def test_the_page_takes_words_as_words():
    text = page(REPORT)
    assert "evidence for &lt;something&gt;" in text
    assert "Because 1 &lt; 2 &amp; 3." in text
    assert "below &lt;0" in text


def test_the_figure_draws_each_number_at_its_place(elements):
    dots = [float(dot["cx"]) for dot in elements.all("circle", "dot")]
    zero = float(elements.all("line", "zero")[0]["x1"])
    assert len(dots) == 2  # what has no value has no dot
    assert (dots[0] - zero) / (dots[1] - zero) == pytest.approx(0.25 / -0.5, abs=0.01)
    thick = elements.all("line", "ci")[0]
    assert float(thick["x1"]) < dots[0] < float(thick["x2"])
    thin = elements.all("line", "wide")
    assert len(thin) == 1
    assert float(thin[0]["x1"]) < float(thick["x1"])
    bars = [float(bar["height"]) for bar in elements.all("rect", "bar")]
    assert bars[0] / bars[1] == pytest.approx(3 / 9, abs=0.01)


def test_the_figure_of_nothing_but_zeros_has_them_at_zero():
    zero = Estimate(0.0, Interval(0.0, 0.0), None, 7)
    drawn = Elements(forest({"trained": zero, "frozen": zero}, "accuracy"))
    (line,) = drawn.all("line", "zero")
    assert [dot["cx"] for dot in drawn.all("circle", "dot")] == [line["x1"]] * 2


def test_the_page_is_written_whole(tmp_path):
    path = tmp_path / "report.html"
    REPORT.to_html(path)
    assert path.read_text(encoding="utf-8") == page(REPORT)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_page_is_an_html_file(tmp_path):
    with pytest.raises(ValueError, match=r"^Report\.to_html: '.*a\.txt' ends with '\.txt'\."):
        REPORT.to_html(tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())
