"""The file of `plots.page`: what is in it, and what it refuses. The next file opens it."""

import base64
import hashlib
import json
import re
import zlib

import numpy as np
import pytest
import torch

from regard import plots
from regard.recording.trace import Trace
from tests.plots.traces import ARABIC, ENGLISH, GERMAN, HEBREW, add, softmax, two_sites


def written(tmp_path, trace, **options) -> str:
    plots.page(trace, tmp_path / "page.html", **options)
    return (tmp_path / "page.html").read_text("utf-8")


def told(text: str) -> dict:
    return json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text)[1])


def weights_in(text: str, place: int, shape: tuple[int, ...]) -> np.ndarray:
    """Read back as the page says that they are written."""
    packed = re.search(rf'id="weights-{place}">(.*?)</script>', text)[1]
    planes = zlib.decompress(base64.b64decode(packed))
    count = len(planes) // 4
    numbers = b"".join(planes[i::count] for i in range(count))
    return np.frombuffer(numbers, "<f4").reshape(shape)


def test_the_file_holds_the_weights_exactly(tmp_path):
    text = written(tmp_path, two_sites())
    trace = two_sites()
    for place, site in enumerate(trace):
        assert np.array_equal(weights_in(text, place, site.weights.shape), site.weights.numpy())
    assert [site["name"] for site in told(text)["sites"]] == ["decoder.cross", "encoder"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_exact_and_takes_less_room(tmp_path, dtype):
    weights = softmax(1, 2, 30, 40)
    whole = len(written(tmp_path, Trace.of_weights("w", weights)))
    text = written(tmp_path, Trace.of_weights("w", weights.to(dtype)))
    assert np.array_equal(weights_in(text, 0, (1, 2, 30, 40)), weights.to(dtype).float().numpy())
    nothing = len(written(tmp_path, Trace.of_weights("w", torch.zeros(1, 2, 30, 40))))
    assert len(text) - nothing < 0.75 * (whole - nothing)


def test_a_page_of_256_by_256_in_8_heads_is_under_3_megabytes(tmp_path):
    tokens = [[f"token{i}" for i in range(256)]]
    for sharp in (0.0, 2.0, 30.0):
        weights = softmax(1, 8, 256, 256, sharp=sharp)
        written(tmp_path, Trace.of_weights("layer", weights, tokens, tokens))
        assert (tmp_path / "page.html").stat().st_size < 3_000_000


def test_the_policy_allows_the_scripts_and_the_style_in_the_file_and_nothing_else(tmp_path):
    text = written(tmp_path, two_sites())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]

    def digest(of: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(of.encode()).digest()).decode()

    assert policy == (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)


def test_tokens_and_titles_are_text_whatever_they_say(tmp_path):
    title = "<b>&\u202eabc"
    text = written(tmp_path, two_sites(), title=title)
    assert "<title>&lt;b&gt;&amp;\\u202eabc</title>" in text
    first, second = told(text)["sites"][0]["examples"]
    assert (first["queries"], first["keys"]) == (GERMAN, ENGLISH)
    assert (second["queries"], second["keys"]) == (ARABIC, HEBREW)
    assert text.count("</script>") == 4  # the description, two sites, the script


def test_positions_without_tokens_are_numbered(tmp_path):
    example = told(written(tmp_path, two_sites()))["sites"][1]["examples"][1]
    assert example["queries"] == ["0", "1", "2", "3"]
    assert example["keys"] == ["0", "1", "2", "3", "4", "5"]


def test_padding_is_left_out_and_the_page_says_so(tmp_path):
    first, second = told(written(tmp_path, two_sites()))["sites"][0]["examples"]
    assert first["left_out"] == ""
    assert second["left_out"] == (
        "Left out, as padding (no token, no weight on it): 3 queries and 4 keys."
    )


def test_weight_on_a_key_without_a_token_is_shown(tmp_path):
    weights = torch.tensor([[[0.5, 0.25, 0.0, 0.25, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2]]])
    trace = Trace.of_weights("w", weights, [["q"]], [["a", "b"]])
    (example,) = told(written(tmp_path, trace))["sites"][0]["examples"]
    assert example["keys"] == ["a", "b", "(no token)", "(no token)"]
    assert example["left_out"].endswith(": 1 query and 1 key.")


def test_an_example_without_any_token_has_one_empty_row(tmp_path):
    trace = Trace.of_weights("w", torch.zeros(1, 2, 3), [[]], [[]])
    (example,) = told(written(tmp_path, trace))["sites"][0]["examples"]
    assert (example["queries"], example["keys"]) == (["(no token)"], ["(no token)"])


def test_every_run_of_a_site_is_shown(tmp_path):
    trace = Trace()
    add(trace, "twice", softmax(1, 2, 3, 4), softmax(1, 2, 5, 4, seed=1))
    text = written(tmp_path, trace)
    assert [site["name"] for site in told(text)["sites"]] == ["twice, run 0", "twice, run 1"]
    assert np.array_equal(weights_in(text, 1, (1, 2, 5, 4)), trace["twice"].runs[1].weights)


def test_the_same_trace_gives_the_same_file(tmp_path):
    assert written(tmp_path, two_sites()) == written(tmp_path, two_sites())


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (torch.tensor([[0.5, -1.5]]), r"weights\[0, 0, 0, 1\] = -1.5 \(1 of 2 cells.*not scores"),
        (torch.tensor([[0.5], [float("nan")]]), r"weights\[0, 0, 1, 0\] = nan"),
        (torch.tensor([[0.5, 1.5]]), r"site 'w' has weights\[0, 0, 0, 1\] = 1.5"),
        (torch.zeros(2, 0, 3), r"weights of shape \(2, 1, 0, 3\), without a cell"),
    ],
)
@pytest.mark.usefixtures("as_a_user")
def test_what_are_no_weights_is_refused(tmp_path, weights, message):
    with pytest.raises(ValueError, match=message):
        plots.page(Trace.of_weights("w", weights, normalized=False), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("as_a_user")
def test_an_empty_trace_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no weights \(0 summaries\).*Run the model"):
        plots.page(Trace(), tmp_path / "page.html")


@pytest.mark.usefixtures("as_a_user")
def test_tokens_that_do_not_fit_are_refused(tmp_path):
    trace = two_sites()
    trace["encoder"].key_tokens = [["a"] * 7, ["b"]]
    with pytest.raises(ValueError, match=r"'encoder' has key_tokens of lengths \[7, 1\], but"):
        plots.page(trace, tmp_path / "page.html")
    trace["encoder"].key_tokens = [[3], ["b"]]
    with pytest.raises(TypeError, match=r"token 3 of type int in key_tokens\[0\]. Tokens are"):
        plots.page(trace, tmp_path / "page.html")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("page.png", "ends with '.png'. A browser opens the page by its ending. Use .html"),
        ("page", "has no ending"),
        ("none/page.html", "which does not exist"),
    ],
)
def test_a_path_that_no_page_can_have_is_refused(tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        plots.page(two_sites(), tmp_path / name)


def test_after_an_error_while_writing_the_old_file_is_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(*_, **__):
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr("pathlib.Path.write_text", fail)
    with pytest.raises(OSError, match=r"No space left.*page.html"):
        plots.page(two_sites(), path)
    assert [left.name for left in tmp_path.iterdir()] == ["page.html"]
    assert path.read_bytes() == b"old"
