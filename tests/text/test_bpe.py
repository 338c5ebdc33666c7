import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import BpeTokenizer, load_dataset

TEXTS = [
    "save the file as a new file",
    "the files are saved",
    "new saving of the file",
    "a filing of files  and savings",
]


def merged(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """Every occurrence joined, from the left."""
    done: list[str] = []
    for piece in word:
        if done and (done[-1], piece) == pair:
            done[-1] += piece
        else:
            done.append(piece)
    return tuple(done)


def as_words(text: str) -> list[tuple[str, ...]]:
    return [("▁", *word) for word in text.split(" ")]


def test_each_merge_is_of_the_most_frequent_pair_of_neighbours():
    learned = BpeTokenizer.learn(TEXTS, num_pieces=40)
    words = Counter(word for text in TEXTS for word in as_words(text))
    assert len(learned.merges) > 10
    for merge in learned.merges:
        counts: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                counts[pair] += count
        assert counts[merge] == max(counts.values())
        assert counts[merge] >= 2
        words = Counter({merged(word, merge): count for word, count in words.items()})


def test_a_merge_by_hand():
    """▁xab ▁yab: a and b are neighbours twice, all others once."""
    learned = BpeTokenizer.learn(["xab yab"])
    assert learned.merges == (("a", "b"),)
    assert learned.pieces == ("a", "b", "x", "y", "▁", "ab")
    assert learned.tokenize("bab") == ["▁", "b", "ab"]


@given(st.text("aefilnsvw  ", max_size=30))
def test_words_are_cut_by_the_merges_in_their_order(text):
    words = as_words(text) if text else []
    for merge in LEARNED.merges:
        words = [merged(word, merge) for word in words]
    assert LEARNED.tokenize(text) == [piece for word in words for piece in word]


LEARNED = BpeTokenizer.learn(TEXTS, num_pieces=40)


@given(st.text().filter(lambda text: "▁" not in text))
def test_texts_come_back_as_they_were(text):
    assert LEARNED.join(LEARNED.tokenize(text)) == text


@given(st.text(st.sampled_from("save 漢字é\u0301\u00a0\t<unk>"), min_size=1))
def test_what_was_never_seen_is_a_token_by_itself(text):
    for piece in LEARNED.tokenize(text):
        assert piece in LEARNED.pieces or len(piece) == 1


def test_so_many_pieces_as_asked_for():
    words = [pair.source for pair in load_dataset("cmudict").dev]
    for num_pieces in (30, 31, 100, 1000):
        assert len(BpeTokenizer.learn(words, num_pieces=num_pieces).pieces) <= num_pieces
    assert len(BpeTokenizer.learn(words, num_pieces=1000).pieces) > 990


def test_learning_is_the_same_in_every_process():
    script = (
        "from regard.text import BpeTokenizer, load_dataset\n"
        "words = [pair.source for pair in load_dataset('cmudict').dev]\n"
        "print(BpeTokenizer.learn(words, num_pieces=500).merges)\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    }
    assert len(told) == 1


def test_json_and_back():
    again = BpeTokenizer.from_json(LEARNED.to_json() | {"another": "key"})
    assert (again.alphabet, again.merges, again.pieces) == (
        LEARNED.alphabet,
        LEARNED.merges,
        LEARNED.pieces,
    )
    assert again.tokenize("saved filings") == LEARNED.tokenize("saved filings")


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"alphabet": ["a"]},
        {"alphabet": "a", "merges": []},
        {"alphabet": ["a"], "merges": [1]},
    ],
)
def test_other_json_is_refused(data):
    with pytest.raises(ValueError, match="bpe needs an alphabet, a list of strings, and merges"):
        BpeTokenizer.from_json(data)


@pytest.mark.parametrize("merges", [[("a", "c")], [("ab", "a"), ("a", "b")], [("a", "")]])
def test_a_merge_of_what_is_no_piece_is_refused(merges):
    with pytest.raises(ValueError, match="comes before there is a piece"):
        BpeTokenizer(["a", "b"], merges)


def test_too_few_pieces_are_refused():
    with pytest.raises(ValueError, match="num_pieces=3, and the texts have 4 different characters"):
        BpeTokenizer.learn(["abc"], num_pieces=3)


@pytest.mark.parametrize(
    ("texts", "num_pieces", "error", "message"),
    [
        ("abc", 10, TypeError, r"texts='abc' is a string\. .* Give a list of strings\."),
        (["abc"], "10", TypeError, r"num_pieces='10' is a str\. .* Give a whole number\."),
        (["abc"], 10.5, TypeError, r"num_pieces=10\.5 is a float\."),
        (["abc"], None, TypeError, r"num_pieces=None is a NoneType\."),
        (["abc"], True, TypeError, r"num_pieces=True is a bool\."),
        (["abc"], 10**6 + 1, ValueError, r"num_pieces=1000001 is more than 1,000,000\."),
        (["abc"], 10**21, ValueError, r"is more than 1,000,000\."),
    ],
)
def test_what_cannot_be_learned_is_refused_in_words(texts, num_pieces, error, message, as_a_user):
    with pytest.raises(error, match=message):
        BpeTokenizer.learn(texts, num_pieces=num_pieces)
