import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import Vocabulary

TOKEN_LISTS = st.lists(st.lists(st.text(min_size=1), min_size=1), min_size=1)


def test_tokens_are_numbered_by_frequency_and_then_by_name():
    vocabulary = Vocabulary.build([["b", "c", "a"], ["c", "d", "d", "c"]])
    assert vocabulary.tokens == ("c", "d", "a", "b")
    assert vocabulary.encode(["a", "b", "c", "d"]) == [6, 7, 4, 5]
    assert len(vocabulary) == 8


def test_special_ids_are_fixed():
    special = (Vocabulary.PADDING, Vocabulary.UNKNOWN, Vocabulary.BEGIN, Vocabulary.END)
    assert special == (0, 1, 2, 3)
    assert Vocabulary(("a",)).display(special) == ["<pad>", "<unk>", "<s>", "</s>"]


def test_rare_tokens_and_tokens_beyond_the_size_are_unknown():
    token_lists = [["a", "a", "a", "b", "b", "c"]]
    assert Vocabulary.build(token_lists, min_count=2).tokens == ("a", "b")
    small = Vocabulary.build(token_lists, max_size=5)
    assert len(small) == 5
    assert small.encode(["a", "b", "c", "a"]) == [4, 1, 1, 4]
    assert small.num_unknown(["a", "b", "c", "a"]) == 2
    assert "a" in small
    assert "b" not in small


def test_decoding_stops_at_the_end_and_drops_padding_and_begin():
    vocabulary = Vocabulary(("a", "b"))
    assert vocabulary.decode([2, 4, 0, 1, 5, 3, 4, 99]) == ["a", "<unk>", "b"]
    assert vocabulary.decode([]) == []


def test_a_token_that_looks_special_is_an_ordinary_token():
    vocabulary = Vocabulary.build([["</s>", "<pad>", "<unk>"]])
    ids = vocabulary.encode(["<pad>", "</s>", "<s>"])
    assert ids == [5, 4, Vocabulary.UNKNOWN]
    assert vocabulary.decode(ids) == ["<pad>", "</s>", "<unk>"]
    assert "<unk>" in vocabulary
    assert "<s>" not in vocabulary


@given(TOKEN_LISTS)
def test_every_token_seen_comes_back(token_lists):
    vocabulary = Vocabulary.build(token_lists)
    for tokens in token_lists:
        assert vocabulary.decode(vocabulary.encode(tokens)) == tokens
        assert vocabulary.num_unknown(tokens) == 0


@given(TOKEN_LISTS, st.randoms())
def test_the_order_of_the_data_does_not_matter(token_lists, random):
    shuffled = random.sample(token_lists, len(token_lists))
    assert Vocabulary.build(shuffled) == Vocabulary.build(token_lists)


@given(TOKEN_LISTS)
def test_json_brings_the_same_vocabulary_back(token_lists):
    vocabulary = Vocabulary.build(token_lists)
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary


@pytest.mark.parametrize(
    "damage",
    [
        {"special_tokens": ["<s>"]},
        {"special_tokens": None},
        {"tokens": "ab"},
        {"tokens": None},
        {"tokens": ["a", 5]},
        {"tokens": ["a", ["b"]]},
    ],
)
def test_damaged_json_is_an_error_that_says_what_is_expected(damage):
    data = Vocabulary(("a", "b")).to_json() | damage
    with pytest.raises(ValueError, match="saved vocabulary is a dict with special_tokens="):
        Vocabulary.from_json(data)


@pytest.mark.parametrize("data", [None, [], "text", {"tokens": ["a"]}])
def test_foreign_json_is_an_error(data):
    with pytest.raises(ValueError, match=r"Vocabulary\.from_json: .* save the vocabulary again"):
        Vocabulary.from_json(data)


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        ([], r"no tokens\. .* Build it from data"),
        (["a", "b", "a"], r"'a' is there 2 times\. A token has one id\. Remove the repeats"),
        (["a", ""], r"token 1 is empty\. .* Remove it"),
    ],
)
def test_damaged_tokens_are_an_error(tokens, problem):
    data = Vocabulary(("a",)).to_json() | {"tokens": tokens}
    with pytest.raises(ValueError, match=problem):
        Vocabulary.from_json(data)


def test_impossible_limits_are_errors():
    with pytest.raises(ValueError, match=r"min_count=0\. .* Use min_count=1"):
        Vocabulary.build([["a"]], min_count=0)
    with pytest.raises(ValueError, match=r"max_size=4\. 4 places are taken .* Give at least 5"):
        Vocabulary.build([["a"]], max_size=4)
    with pytest.raises(ValueError, match=r"no tokens\. .* lower min_count"):
        Vocabulary.build([["a"]], min_count=2)


@pytest.mark.parametrize("id", [-1, 5])
def test_an_id_without_a_token_is_an_error(id):
    with pytest.raises(ValueError, match=rf"id {id} has no token\. Ids are 0 to 4\."):
        Vocabulary(("a",)).decode([4, id])


def test_a_string_in_place_of_tokens_is_an_error():
    with pytest.raises(TypeError, match=r"encode: 'AE B' is a string\. .* with a tokenizer first"):
        Vocabulary(("AE", "B")).encode("AE B")
    with pytest.raises(TypeError, match="build: 'AE B' is a string"):
        Vocabulary.build(["AE B"])
