import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import TOKENIZERS, guess_tokenizer, tokenizer

TOKEN = st.text(min_size=1).filter(lambda text: text.split() == [text])


@given(st.text())
def test_characters_come_back_as_they_were(text):
    characters = tokenizer("characters")
    assert characters.join(characters.tokenize(text)) == text


@given(st.lists(TOKEN))
def test_whitespace_tokens_come_back_as_they_were(tokens):
    whitespace = tokenizer("whitespace")
    assert whitespace.tokenize(whitespace.join(tokens)) == tokens


def test_characters_are_code_points_as_given():
    assert tokenizer("characters").tokenize("e\u0301é 😀") == ["e", "\u0301", "é", " ", "😀"]


def test_whitespace_runs_are_one_boundary():
    assert tokenizer("whitespace").tokenize(" AE  B\tIY ") == ["AE", "B", "IY"]
    assert tokenizer("whitespace").tokenize("  ") == []


def test_every_tokenizer_knows_the_name_it_is_listed_under():
    assert TOKENIZERS == ("characters", "whitespace", "bpe")
    assert [tokenizer(name).name for name in TOKENIZERS[:2]] == ["characters", "whitespace"]


def test_an_unknown_name_is_an_error_that_lists_the_names():
    with pytest.raises(ValueError, match=r"'words'\. Choose one of characters, whitespace\."):
        tokenizer("words")


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["K AE T", "AH", "D AO G"], "whitespace"),
        (["cat", "dog", "new york"], "characters"),
        (["K AE T", "AH"], "characters"),
        ([" cat ", "\tdog"], "characters"),
        ([], "characters"),
        ([f"w{n} w{n + 1}" for n in range(0, 1000, 2)], "whitespace"),  # 1,000 different tokens
        ([f"w{n} w{n + 1}" for n in range(1000)], "bpe"),  # 1,001
        ([f"w{n}" for n in range(2000)], "characters"),
    ],
)
def test_most_texts_decide_the_guess(texts, name):
    assert guess_tokenizer(iter(texts)) == name
