"""`regard evaluate`: error rates that are right, of a model that is there."""

import json
import re
import sys

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.search import Hypothesis, Prediction
from regard.training.bootstrap import bootstrap
from tests.cli.command import error_of, run

# By hand, in the target's tokens; the nearest target counts.
#   source  targets            answer   edits  of tokens
#   a       A B C D | X Y      A B C    1      4
#   b       Q                  Q        0      1
#   c       R S | R S T        R S T    0      3
#   d       E F                (none)   2      2
PAIRS = "a\tA B C D\nb\tQ\na\tX Y\nc\tR S\nc\tR S T\nd\tE F\nb\tQ\n"
SOURCES = {"c": "ccc", "d": "ddd"}  # as long as if they were three letters
ANSWERS = {"a": "A B C", "b": "Q", "c": "R S T", "d": ""}


@pytest.fixture
def known_answers(monkeypatch):
    """A model that gives these answers."""

    def predict(translator, sources, **options):
        return [
            Prediction(
                source,
                list(SOURCES.get(source, source)),
                [Hypothesis(ANSWERS[source], ANSWERS[source].split(), 0.0, 0.0, None)],
            )
            for source in sources
        ]

    monkeypatch.setattr(sys.modules["regard.training.evaluate"], "predict", predict)


@pytest.fixture
def pairs(tmp_path):
    (tmp_path / "test.tsv").write_text(PAIRS)
    return tmp_path / "test.tsv"


def interval(rows):
    """Of the first count per second, in these rows; the bootstrap has tests of its own."""
    found = bootstrap(np.array(rows, dtype=float), lambda total: total[0] / total[1])
    return [found.low, found.high]


def test_the_rates_are_those_counted_by_hand(model, pairs, known_answers):
    ran = run("evaluate", model, pairs, "--json")
    assert (ran.status, ran.err) == (0, "")
    rates = json.loads(ran.out)
    assert rates.pop("words_per_second") > 0
    assert rates == {
        "words": 4,
        "word_errors": 2,
        "wer": 0.5,
        "wer_interval": interval([[1, 1], [0, 1], [0, 1], [1, 1]]),
        "tokens": 10,
        "token_errors": 3,
        "ter": 0.3,
        "ter_interval": interval([[1, 4], [0, 1], [0, 3], [2, 2]]),
        "by_length": [
            {
                "shortest": 1,
                "longest": 1,
                "words": 2,
                "word_errors": 1,
                "wer": 0.5,
                "wer_interval": [0.0, 1.0],
                "tokens": 5,
                "token_errors": 1,
                "ter": 0.2,
                "ter_interval": [0.0, 0.25],
            },
            {
                "shortest": 3,
                "longest": 3,
                "words": 2,
                "word_errors": 1,
                "wer": 0.5,
                "wer_interval": [0.0, 1.0],
                "tokens": 5,
                "token_errors": 2,
                "ter": 0.4,
                "ter_interval": [0.0, 1.0],
            },
        ],
        "bootstrap": {"level": 0.95, "resamples": 1000, "seed": 1, "over": "sources"},
    }


def test_the_same_is_said_in_words(model, pairs, known_answers):
    first, *rates = run("evaluate", model, pairs).out.splitlines()
    assert re.fullmatch(r"4 words, [\d,]+ a second", first)
    # of the 256 ways to draw 4 of 4 the middle 95 % have at most 7 edits in 10 tokens
    assert rates == [
        "word error rate   50.00% [0.00%, 100.00%]  (2 wrong)",
        "token error rate  30.00% [0.00%, 70.00%]  (3 edits in 10 tokens)",
        "",
        "source tokens  words  word error rate          token error rate",
        "1              2      50.00% [0.00%, 100.00%]  20.00% [0.00%, 25.00%]",
        "3              2      50.00% [0.00%, 100.00%]  40.00% [0.00%, 100.00%]",
        "",
        "[95% intervals: percentile bootstrap over the 4 sources, 1,000 resamples, seed 1]",
        "BLEU and chrF are left out: they compare words, and a side of this model is cut",
        "into characters. Ask for them with --bleu.",
    ]


def test_bleu_and_chrf_are_sacrebleus(model, pairs, known_answers):
    """a: 1 to 3 grams of A B C; b, c right; d nothing. Several references, not as many for each."""
    told = json.loads(run("evaluate", model, pairs, "--bleu", "--json").out)
    texts = list(ANSWERS.values())
    streams = [["A B C D", "Q", "R S", "E F"], ["X Y", None, "R S T", None]]
    assert told["bleu"] == pytest.approx(BLEU().corpus_score(texts, streams).score)
    assert told["chrf"] == pytest.approx(CHRF().corpus_score(texts, streams).score)
    assert told["signatures"]["bleu"].startswith("nrefs:var|case:mixed|eff:no|tok:13a")
    assert told["by_length"][1]["chrf"] == pytest.approx(
        CHRF().corpus_score(texts[2:], [stream[2:] for stream in streams]).score
    )
    lines = run("evaluate", model, pairs, "--bleu").out.splitlines()
    assert lines[3].startswith("BLEU              ")
    header = next(line for line in lines if line.startswith("source tokens"))
    assert header.split()[-2:] == ["BLEU", "chrF"]
    assert not any("left out" in line for line in lines)


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


def test_a_beam_is_measured_as_it_predicts(model, data):
    with_beam = ("--beam", "4", "--length-penalty", "0.5")
    rates = json.loads(run("evaluate", model, data / "test.tsv", *with_beam, "--json").out)
    pairs = dict(line.split("\t") for line in (data / "test.tsv").read_text().splitlines())
    predicted = run("predict", model, *with_beam, stdin="\n".join(pairs).encode()).out.splitlines()
    assert rates["word_errors"] == sum(
        guess != right for guess, right in zip(predicted, pairs.values(), strict=True)
    )


def test_a_beam_that_is_none_is_one_error(model, data):
    ran = run("evaluate", model, data / "test.tsv", "--beam", "0")
    assert error_of(ran) == "--beam 0. Give a whole number from 1 to 1,000."


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", r"no pair in this file"), (b"a\0\tb\n", r"NUL bytes"), (None, r"No such file")],
    ids=repr,
)
def test_test_pairs_that_cannot_be_read_are_one_error(model, tmp_path, content, message):
    if content is not None:
        (tmp_path / "test.tsv").write_bytes(content)
    assert re.search(message, error_of(run("evaluate", model, tmp_path / "test.tsv")))
