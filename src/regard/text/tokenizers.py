"""Tokenizers: how a string is cut into tokens, and tokens joined to a string again."""

from collections.abc import Iterable


class CharacterTokenizer:
    """Every Unicode code point is a token, as it is given.

    Nothing is normalized: a letter and its combining accent are two tokens where the text has
    them as two code points. Joining gives back exactly what was cut.

    >>> CharacterTokenizer().tokenize("été")
    ['é', 't', 'é']
    """

    name = "characters"

    def tokenize(self, text: str) -> list[str]:
        """Cut a string into its code points."""
        return list(text)

    def join(self, tokens: Iterable[str]) -> str:
        """Put tokens side by side."""
        return "".join(tokens)


class WhitespaceTokenizer:
    """Tokens are what stands between white space, as phonemes or words do.

    Joining puts one space between tokens, so runs of white space do not come back as they were.

    >>> WhitespaceTokenizer().tokenize("AE B  IY")
    ['AE', 'B', 'IY']
    """

    name = "whitespace"

    def tokenize(self, text: str) -> list[str]:
        """Cut a string at white space."""
        return text.split()

    def join(self, tokens: Iterable[str]) -> str:
        """Put one space between tokens."""
        return " ".join(tokens)


Tokenizer = CharacterTokenizer | WhitespaceTokenizer

TOKENIZERS: dict[str, Tokenizer] = {
    "characters": CharacterTokenizer(),
    "whitespace": WhitespaceTokenizer(),
}


def tokenizer(name: str) -> Tokenizer:
    """Give the tokenizer of this name.

    >>> tokenizer("characters").tokenize("abc")
    ['a', 'b', 'c']
    """
    if name not in TOKENIZERS:
        raise ValueError(
            f"tokenizer: there is none named {name!r}. Choose one of {', '.join(TOKENIZERS)}."
        )
    return TOKENIZERS[name]


def guess_tokenizer(texts: Iterable[str]) -> str:
    """Name the tokenizer that texts look made for: `whitespace` where most have white space inside.

    >>> guess_tokenizer(["AE B IY", "AH"]), guess_tokenizer(["AE B IY", "K AE T"])
    ('characters', 'whitespace')
    """
    num_texts = num_spaced = 0
    for text in texts:
        num_texts += 1
        num_spaced += len(text.split(maxsplit=1)) > 1
    return "whitespace" if 2 * num_spaced > num_texts else "characters"
