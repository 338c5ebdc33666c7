"""Tokenizers: how a string is cut into tokens, and tokens joined to a string again."""

from collections.abc import Iterable

from regard.text.bpe import BpeTokenizer


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


Tokenizer = CharacterTokenizer | WhitespaceTokenizer | BpeTokenizer

_FIXED: dict[str, Tokenizer] = {
    cutter.name: cutter for cutter in (CharacterTokenizer(), WhitespaceTokenizer())
}
TOKENIZERS = (*_FIXED, BpeTokenizer.name)
"""Their names."""

MOST_SYMBOLS = 1000
"""No alphabet, set of phonemes or tags has more different tokens. A language has more words."""


def tokenizer(name: str) -> Tokenizer:
    """Give the tokenizer of this name. (``bpe`` is learned: :meth:`BpeTokenizer.learn`.)

    >>> tokenizer("characters").tokenize("abc")
    ['a', 'b', 'c']
    """
    if name not in _FIXED:
        raise ValueError(
            f"tokenizer: there is none named {name!r}. Choose one of {', '.join(_FIXED)}."
        )
    return _FIXED[name]


def guess_tokenizer(texts: Iterable[str]) -> str:
    """Name the tokenizer that texts look made for.

    Where most have no white space inside, `characters`; where most have, `whitespace`, but `bpe`
    where they are words: more than 1,000 different tokens.

    >>> guess_tokenizer(["AE B IY", "AH"]), guess_tokenizer(["AE B IY", "K AE T"])
    ('characters', 'whitespace')
    """
    num_texts = num_spaced = 0
    tokens: set[str] = set()
    for text in texts:
        parts = text.split()
        num_texts += 1
        num_spaced += len(parts) > 1
        tokens.update(parts)
    if 2 * num_spaced <= num_texts:
        return "characters"
    return "whitespace" if len(tokens) <= MOST_SYMBOLS else "bpe"
