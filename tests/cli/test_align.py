"""`regard align`: a grid, a picture or numbers; all three the model's own weights."""

import base64
import json
import re
import sys
import zlib

import pytest
import torch
from PIL import Image

from regard.models import Side, Translator
from tests.cli.command import error_of, run


@pytest.fixture(scope="module")
def translator(model):
    return Translator.from_pretrained(model)


def numbers(model, *arguments):
    ran = run("align", model, *arguments, "--json")
    assert ran.status == 0
    assert all(line.startswith("note: ") for line in ran.err.splitlines()), ran.err
    return json.loads(ran.out)


def test_json_holds_the_tokens_and_a_row_of_weights_for_each_of_the_targets(model, translator):
    told = numbers(model, "abé", "AH B ɛ B")
    assert list(told) == ["source", "target", "weights"]
    assert (told["source"], told["target"]) == (["a", "b", "é"], ["AH", "B", "ɛ", "B"])
    weights = torch.tensor(told["weights"])
    torch.testing.assert_close(weights, translator.align("abé", "AH B ɛ B"))
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))


def test_without_a_target_the_models_own_prediction_is_aligned(model):
    predicted = run("predict", model, stdin=b"cab\n").out.strip()
    assert numbers(model, "cab") == numbers(model, "cab", predicted)


def test_the_grid_has_keys_across_queries_down_and_hundredths_in_its_cells(model, translator):
    ran = run("align", model, "abé", "AH B")
    header, *rows = (line.split() for line in ran.out.splitlines())
    assert header == ["a", "b", "é"]
    assert [row[0] for row in rows] == ["AH", "B"]
    for row, weights in zip(rows, translator.align("abé", "AH B").tolist(), strict=True):
        for cell, weight in zip(row[1:], weights, strict=True):
            assert (0 if cell == "·" else int(cell)) == pytest.approx(100 * weight, abs=0.51)


def test_png_writes_a_picture_beside_what_is_printed(model, tmp_path):
    ran = run("align", model, "abé", "--png", tmp_path / "a.png")
    assert ran == run("align", model, "abé")
    with Image.open(tmp_path / "a.png") as picture:
        picture.load()
        assert picture.format == "PNG"
        assert min(picture.size) > 100
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_html_writes_a_page_of_the_same_weights_beside_what_is_printed(model, translator, tmp_path):
    ran = run("align", model, "abé", "AH B", "--html", tmp_path / "a.html")
    assert ran == run("align", model, "abé", "AH B")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert '<h1 dir="auto">abé → AH B</h1>' in page
    assert '"queries":["AH","B"],"keys":["a","b","é"]' in page
    packed = re.search(r'id="weights-0">(.*?)</script>', page)[1]
    planes = torch.frombuffer(
        bytearray(zlib.decompress(base64.b64decode(packed))), dtype=torch.uint8
    )
    weights = planes.reshape(4, -1).T.contiguous().view(torch.float32).reshape(2, 3)
    assert torch.equal(weights, translator.align("abé", "AH B").float())
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_a_page_that_cannot_be_written_is_one_error(model, tmp_path):
    error = error_of(run("align", model, "ab", "AH", "--html", tmp_path / "a.png"))
    assert re.search(r"^--html: '.*' ends with '\.png'.*Use \.html\.$", error)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.doc", r"^--png: '.*' ends with '\.doc'.*\.png"),
        ("no", r"^--png: '.*/no' has no ending\. .*\.png"),
        ("missing/a.png", r"^--png: .* which does not exist\. .*Make it first"),
        ("folder.png", r"/folder\.png: Is a directory\. Give a file"),
    ],
)
def test_a_picture_that_cannot_be_written_is_one_error(model, tmp_path, name, message):
    (tmp_path / "folder.png").mkdir()
    assert re.search(message, error_of(run("align", model, "ab", "AH", "--png", tmp_path / name)))
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


def test_the_pictures_name_is_judged_before_the_model_is_read(tmp_path):
    assert error_of(run("align", tmp_path / "none", "ab", "--png", ".")).startswith(
        "--png: '.' has"
    )


def test_tokens_that_the_model_does_not_know_keep_their_labels(model):
    told = numbers(model, "axb", "AH ZZ")
    assert (told["source"], told["target"]) == (["a", "x", "b"], ["AH", "ZZ"])


@pytest.mark.parametrize("source", ["[b]a", "a\tb", "a\0b", "a b", "日a", "\x1b[31m", "a" * 500])
def test_odd_tokens_are_shown_and_none_is_taken_for_markup(model, source):
    assert numbers(model, source, "AH [red]x[/red]")["source"] == list(source)
    ran = run("align", model, source, "AH [red]x[/red]")
    assert ran.status == 0
    assert "[red]x[/red]" in ran.out
    assert not {"\0", "\x1b", "\t"} & set(ran.out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), r"the source '' has no tokens"),
        (("ab", ""), r"the target '' has no tokens"),
        (("ab", "  "), r"the target '  ' has no tokens"),
        (("a\udcff",), r"SOURCE is not valid UTF-8"),
        (("ab", "A\udcff"), r"TARGET is not valid UTF-8"),
    ],
    ids=ascii,
)
def test_what_cannot_be_aligned_is_one_error(model, arguments, message):
    assert re.search(message, error_of(run("align", model, *arguments)))


def test_a_model_without_attention_has_nothing_to_show(blind_model, tmp_path):
    error = error_of(run("align", blind_model, "ab", "--png", tmp_path / "a.png"))
    assert "trained with attention 'none', so it has no weights" in error
    assert not (tmp_path / "a.png").exists()


def test_a_model_that_predicts_nothing_asks_for_a_target(model, translator, tmp_path):
    silent = Translator.from_pretrained(model)
    with torch.no_grad():
        silent.network.decoder.readout.to_logits.bias[3] = 1e4  # the end of the sequence
    silent.save_pretrained(tmp_path / "silent")
    error = error_of(run("align", tmp_path / "silent", "ab"))
    assert error.endswith("predicts nothing for 'ab', so there is nothing to align. Give a TARGET.")
    assert run("align", tmp_path / "silent", "ab", "AH").status == 0


def test_a_missing_matplotlib_is_one_error_that_says_what_to_install(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = error_of(run("align", model, "ab", "AH", "--png", tmp_path / "a.png"))
    assert error.count("pip install") == 1
    assert "'regard[plots]'" in error


def test_tokens_that_the_model_does_not_know_are_told(model):
    ran = run("align", model, "axb", "AH ZZ")
    assert ran.err.splitlines() == [
        "note: source tokens unknown to the model: 'x' (1 in all)",
        "note: target tokens unknown to the model: 'ZZ' (1 in all)",
    ]


@pytest.mark.filterwarnings("default")
def test_a_character_without_a_font_is_one_note(model, tmp_path):
    ran = run("align", model, "a\U0010fffd", "AH", "--png", tmp_path / "a.png")
    assert ran.status == 0
    unknown, font = ran.err.splitlines()
    assert unknown.startswith("note: source tokens unknown")
    assert re.match(r"note: .*no installed font has .*drawn as boxes", font)
    assert (tmp_path / "a.png").exists()


def test_words_of_a_model_without_pieces_are_refused(model):
    assert error_of(run("align", model, "abé", "--words")) == (
        "align: --words with a model that reads no pieces of words (source characters, target "
        "whitespace). Leave it out."
    )


def test_words_sum_over_their_pieces_and_average_over_those_that_look(tmp_path):
    torch.manual_seed(1)
    side = Side.build("bpe", ["save save save the the file filed"])
    Translator.fresh(side, side, hidden_dim=8, embed_dim=6).save_pretrained(tmp_path)
    pieces = numbers(tmp_path, "save fed", "the led")
    words = numbers(tmp_path, "save fed", "the led", "--words")
    assert pieces["source"][0] == "▁save"
    assert len(pieces["source"]) > 2
    assert (words["source"], words["target"]) == (["save", "fed"], ["the", "led"])
    of_the, *of_led = (torch.tensor([row[0], sum(row[1:])]) for row in pieces["weights"])
    expected = torch.stack([of_the, torch.stack(of_led).mean(0)])
    torch.testing.assert_close(torch.tensor(words["weights"]), expected)
