"""`regard evaluate`: error rates that are right, of a model that is there."""

import json
import re
import sys

import pytest

from regard.search import Prediction
from tests.cli.command import error_of, run

# By hand, in the target's tokens; the nearest target counts.
#   source  targets            answer   edits  of tokens
#   a       A B C D | X Y      A B C    1      4
#   b       Q                  Q        0      1
#   c       R S | R S T        R S T    0      3
#   d       E F                (none)   2      2
PAIRS = "a\tA B C D\nb\tQ\na\tX Y\nc\tR S\nc\tR S T\nd\tE F\nb\tQ\n"
ANSWERS = {"a": "A B C", "b": "Q", "c": "R S T", "d": ""}


@pytest.fixture
def known_answers(monkeypatch):
    """A model that gives these answers."""

    def predict(translator, sources, **options):
        return [
            Prediction(source, ANSWERS[source], [source], ANSWERS[source].split(), 0.0, None)
            for source in sources
        ]

    monkeypatch.setattr(sys.modules["regard.training.evaluate"], "predict", predict)


@pytest.fixture
def pairs(tmp_path):
    (tmp_path / "test.tsv").write_text(PAIRS)
    return tmp_path / "test.tsv"


def test_the_rates_are_those_counted_by_hand(model, pairs, known_answers):
    ran = run("evaluate", model, pairs, "--json")
    assert (ran.status, ran.err) == (0, "")
    rates = json.loads(ran.out)
    assert rates.pop("words_per_second") > 0
    assert rates == {
        "words": 4,
        "word_errors": 2,
        "wer": 0.5,
        "tokens": 10,
        "token_errors": 3,
        "ter": 0.3,
    }


def test_the_same_is_said_in_words(model, pairs, known_answers):
    first, *rates = run("evaluate", model, pairs).out.splitlines()
    assert re.fullmatch(r"4 words, [\d,]+ a second", first)
    assert rates == [
        "word error rate   50.00%  (2 wrong)",
        "token error rate  30.00%  (3 edits in 10 tokens)",
    ]


def test_bad_lines_are_refused_or_left_out_and_counted(model, pairs, known_answers):
    pairs.write_text(PAIRS + "broken\n\tx\n")
    assert re.search(r"test\.tsv, line 8: 'broken'", error_of(run("evaluate", model, pairs)))
    ran = run("evaluate", model, pairs, "--skip-bad-lines", "--json")
    assert ran.err == f"{pairs}: 2 bad lines skipped\n"
    assert json.loads(ran.out)["words"] == 4


def test_a_real_model_is_measured_as_it_predicts(model, data):
    rates = json.loads(run("evaluate", model, data / "test.tsv", "--json").out)
    pairs = dict(line.split("\t") for line in (data / "test.tsv").read_text().splitlines())
    predicted = run("predict", model, stdin="\n".join(pairs).encode()).out.splitlines()
    assert rates["words"] == len(pairs)
    assert rates["word_errors"] == sum(
        guess != right for guess, right in zip(predicted, pairs.values(), strict=True)
    )
    assert rates["tokens"] == sum(len(target.split()) for target in pairs.values())


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", r"no pair in this file"), (b"a\0\tb\n", r"NUL bytes"), (None, r"No such file")],
    ids=repr,
)
def test_test_pairs_that_cannot_be_read_are_one_error(model, tmp_path, content, message):
    if content is not None:
        (tmp_path / "test.tsv").write_bytes(content)
    assert re.search(message, error_of(run("evaluate", model, tmp_path / "test.tsv")))
