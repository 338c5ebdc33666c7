"""`regard predict`: for each line in a line out, in order, at once, in UTF-8 in any locale."""

import json
import signal
import sys

import pytest

from regard.models import Translator
from regard.search import predict as decode
from tests.cli.command import error_of, finish, run, start


@pytest.fixture(scope="module")
def answer(model):
    """What the model says to one source, by the library instead of the command line."""
    translator = Translator.from_pretrained(model)
    return lambda source: decode(translator, [source])[0].target


def lines(model, stdin, *options):
    ran = run("predict", model, *options, stdin=stdin)
    assert ran.status == 0, ran
    assert ran.err == "" or ran.err.startswith("note: source tokens unknown"), ran
    assert ran.out.endswith("\n")
    return ran.out.removesuffix("\n").split("\n")


def test_order_is_kept_and_every_line_gets_one(model, answer):
    sources = ["abc", "d", "éa", "bbbbb", "c", "ab"] * 5
    assert lines(model, "".join(f"{s}\n" for s in sources).encode()) == list(map(answer, sources))


def test_an_empty_line_gives_an_empty_line(model, answer):
    assert lines(model, b"ab\n\n\nc\n") == [answer("ab"), "", "", answer("c")]


def test_no_lines_give_no_lines(model):
    assert run("predict", model) == (0, "", "")


def test_a_last_line_without_a_newline_counts(model, answer):
    assert lines(model, b"ab\ncd") == [answer("ab"), answer("cd")]


def test_a_byte_order_mark_is_no_part_of_the_first_source(model, tmp_path):
    (tmp_path / "words.txt").write_bytes(b"\xef\xbb\xbfab\n\xef\xbb\xbfc\n")
    stdin = (tmp_path / "words.txt").read_bytes()
    from_file = run("predict", model, tmp_path / "words.txt", "--json")
    assert from_file == run("predict", model, "--json", stdin=stdin)
    sources = [json.loads(line)["source"] for line in from_file.out.splitlines()]
    assert sources == ["ab", "\ufeffc"]  # a mark stands at the beginning only


def test_tokens_the_model_does_not_know_are_told_once(model):
    ran = run("predict", model, stdin=b"axb\n\nyx\n")
    assert ran.err == "note: source tokens unknown to the model: 'x', 'y' (3 in all)\n"
    many = run("predict", model, stdin=b"efghijklmnop\n").err
    assert many.endswith("'k', 'l' and 4 more (12 in all)\n")


def test_windows_line_ends_are_no_part_of_the_source(model, answer):
    assert lines(model, b"ab\r\n\r\nc\r\n") == [answer("ab"), "", answer("c")]


@pytest.mark.parametrize(
    "source", ["xyz", "a\tb", "a\0b", " ", "[red]a[/]", "日本", "a\u2028b", "a\rb"]
)
def test_characters_never_seen_are_answered_too(model, answer, source):
    (told,) = lines(model, f"{source}\n".encode(), "--json")
    assert json.loads(told)["source"] == source
    assert json.loads(told)["target"] == answer(source)


@pytest.mark.slow
def test_a_very_long_word_ends(model):
    (target,) = lines(model, b"ab" * 250 + b"\n")
    assert 0 < len(target.split()) <= 2 * 500 + 10


def test_json_is_an_object_a_line_with_what_help_says(model, answer):
    told = list(map(json.loads, lines(model, "é\n\nab\n".encode(), "--json")))
    assert [list(object) for object in told] == [["source", "target", "log_prob"]] * 3
    assert [object["source"] for object in told] == ["é", "", "ab"]
    assert [object["target"] for object in told] == [answer("é"), "", answer("ab")]
    assert told[0]["log_prob"] < 0 == told[1]["log_prob"]


def test_n_best_are_told_best_first_and_the_first_is_the_target(model):
    (told,) = map(json.loads, lines(model, b"abc\n", "--beam", "4", "--n-best", "3", "--json"))
    assert list(told) == ["source", "target", "log_prob", "n_best"]
    assert [list(each) for each in told["n_best"]] == [["target", "log_prob", "score"]] * 3
    assert told["n_best"][0]["target"] == told["target"]
    scores = [each["score"] for each in told["n_best"]]
    assert scores == sorted(scores, reverse=True) == [each["log_prob"] for each in told["n_best"]]
    in_words = lines(model, b"abc\n\n", "--beam", "4", "--n-best", "3")
    assert in_words == ["\t".join(each["target"] for each in told["n_best"]), ""]


def test_length_penalty_lengths_and_prefix_reach_the_search(model):
    translator = Translator.from_pretrained(model)
    options = {
        "beam": 3,
        "length_penalty": 2.0,
        "min_length": 4,
        "max_length": 5,
        "prefix": "B D",
    }
    typed = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    (target,) = lines(model, b"abc\n", *(word.replace("_", "-") for word in typed))
    assert target == decode(translator, ["abc"], **options)[0].target
    assert target.startswith("B D ")
    assert 4 <= len(target.split()) <= 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--n-best", "2"), "--n-best 2 with --beam 1. A search returns no more than it keeps"),
        (("--length-penalty", "1"), "--length-penalty 1.0 with --beam 1. It compares"),
        (("--prefix", "Q"), "predict: --prefix 'Q' has the token 'Q', which no target"),
        (("--min-length", "3", "--max-length", "2"), "--min-length 3 with --max-length 2."),
    ],
)
def test_options_that_cannot_be_are_told_before_a_line_is_read(model, options, message):
    assert error_of(run("predict", model, *options)).startswith(message)


def test_a_file_is_read_as_standard_input_is(model, tmp_path):
    (tmp_path / "words.txt").write_text("ab\n\né\n", encoding="utf-8")
    from_file = run("predict", model, tmp_path / "words.txt")
    assert from_file == run("predict", model, "-", stdin="ab\n\né\n".encode())


def test_more_lines_than_are_decoded_together_keep_their_order(model, monkeypatch):
    monkeypatch.setattr(sys.modules["regard.cli.predict"], "_MOST_LINES", 3)
    sources = [b"a", b"", b"ab", b"abc", b"b", b"", b"d"]
    told = lines(model, b"\n".join(sources), "--json")
    assert [json.loads(line)["source"].encode() for line in told] == sources


def test_a_line_that_is_not_utf8_is_named_and_those_before_it_are_answered(model, answer):
    ran = run("predict", model, stdin=b"ab\n" + b"caf\xe9\n")
    assert ran.status == 1
    assert ran.err == (
        "error: predict: byte 4 of line 2 is not valid UTF-8. Convert the input to UTF-8.\n"
    )
    assert ran.out == f"{answer('ab')}\n"


def test_a_missing_file_and_a_folder_are_one_error(model, tmp_path):
    missing = tmp_path / "words.txt"
    assert error_of(run("predict", model, missing)) == (
        f"{missing}: No such file or directory. Check the path."
    )
    assert error_of(run("predict", model, tmp_path)) == (
        f"{tmp_path}: Is a directory. Give a file, not a folder."
    )


# ---- as a process -------------------------------------------------------------------------------


def test_a_line_is_answered_before_the_next_is_written_and_a_closed_pipe_ends_quietly(
    model, answer
):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # and in UTF-8 even so
    process = start("predict", model, **locale)
    for source in ("ab", "", "é"):
        process.stdin.write(f"{source}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline().decode() == f"{answer(source)}\n"
    process.stdout.close()  # as `| head -3` does
    process.stdin.write(b"ab\n")
    process.stdin.flush()
    assert process.wait(timeout=60) != 0  # though our end of its input is still open
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


def test_a_closed_standard_input_is_one_error(model):
    error = error_of(run("predict", model, stdin=None))
    assert error == "predict: standard input is closed. Pipe sources in, or give a FILE."


def test_ctrl_c_ends_with_130_though_the_writer_says_nothing(model):
    process = start("predict", model)
    process.stdin.write(b"ab\n")
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert finish(process).err == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
    ids=str,
)
def test_text_is_utf8_in_any_locale(model, answer, locale):
    ran = finish(start("predict", model, "--json", **locale), "éab\n".encode())
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["target"] == answer("éab")
    assert "éab" in ran.out
