"""Error rates against the nearest of several references."""

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

Tokens = Sequence[str]


class ErrorRates(NamedTuple):
    """Errors and what they are counted in; a word is one whole sequence.

    >>> rates = ErrorRates(num_words=4, word_errors=1, token_errors=2, num_tokens=20)
    >>> rates.wer, rates.ter
    (0.25, 0.1)
    """

    num_words: int
    word_errors: int
    token_errors: int
    num_tokens: int

    @property
    def wer(self) -> float:
        """Word error rate: the fraction of sequences that equal none of their references."""
        return self.word_errors / self.num_words

    @property
    def ter(self) -> float:
        """Token error rate: insertions, deletions and substitutions per token of reference."""
        return self.token_errors / self.num_tokens


class Edits(NamedTuple):
    """Between one hypothesis and the nearest of its references."""

    token_errors: int
    """Insertions, deletions and substitutions."""
    num_tokens: int
    """Of that reference."""


def error_rates(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> ErrorRates:
    """Compare each hypothesis with the nearest of its references.

    The nearest is the one with the fewest edits per token of its own; where two are equal in
    that, the one with fewer edits. Edits and lengths are summed over all hypotheses before they
    are divided, so a long sequence counts for more than a short one.

    Args:
        hypotheses: Token lists, one for each item; may be empty.
        references: For each item the token lists that are right.

    >>> read = [["R", "IY", "D"], ["R", "EH", "D"]]
    >>> error_rates([["R", "EH", "D"], ["K"]], [read, [["K", "AE", "T"]]])
    ErrorRates(num_words=2, word_errors=1, token_errors=2, num_tokens=6)
    """
    return total(nearest_edits(hypotheses, references))


def nearest_edits(
    hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]
) -> list[Edits]:
    """For each hypothesis how far it is from the nearest reference; see :func:`error_rates`.

    >>> nearest_edits([["K"]], [[["K", "AE", "T"], ["K", "IH", "T", "IY"]]])
    [Edits(token_errors=2, num_tokens=3)]
    """
    _check(hypotheses, references)
    return [
        min(
            (
                Edits(Levenshtein.distance(hypothesis, reference), len(reference))
                for reference in allowed
            ),
            key=lambda edits: (edits.token_errors / edits.num_tokens, edits.token_errors),
        )
        for hypothesis, allowed in zip(hypotheses, references, strict=True)
    ]


def total(edits: Sequence[Edits]) -> ErrorRates:
    """The rates over some hypotheses together.

    >>> total([Edits(0, 4), Edits(2, 6)])
    ErrorRates(num_words=2, word_errors=1, token_errors=2, num_tokens=10)
    """
    return ErrorRates(
        len(edits),
        sum(each.token_errors > 0 for each in edits),
        sum(each.token_errors for each in edits),
        sum(each.num_tokens for each in edits),
    )


def word_error_rate(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> float:
    """Give the fraction of hypotheses that equal none of their references.

    >>> word_error_rate([["a"], ["b"]], [[["a"]], [["c"], ["d"]]])
    0.5
    """
    return error_rates(hypotheses, references).wer


def token_error_rate(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> float:
    """Give edits to the nearest reference, per token of it, over all hypotheses together.

    >>> token_error_rate([["a", "b", "x", "d"]], [[["a", "b", "c", "d"]]])
    0.25
    """
    return error_rates(hypotheses, references).ter


def exact_match(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> float:
    """Give the fraction of hypotheses that equal one of their references.

    >>> exact_match([["a"], ["b"]], [[["a"]], [["c"], ["d"]]])
    0.5
    """
    rates = error_rates(hypotheses, references)
    return (rates.num_words - rates.word_errors) / rates.num_words


def _check(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> None:
    if len(hypotheses) != len(references):
        raise ValueError(
            f"error_rates: {len(hypotheses)} hypotheses but {len(references)} lists of references. "
            "Each hypothesis has one list. Give both in the same order and number."
        )
    if not hypotheses:
        raise ValueError("error_rates: no hypotheses. A rate needs at least one. Give some.")
    for place, (hypothesis, allowed) in enumerate(zip(hypotheses, references, strict=True)):
        if not allowed or not all(allowed):
            problem = "an empty reference" if allowed else "no reference"
            raise ValueError(
                f"error_rates: hypothesis {place} has {problem}. Each needs at least one reference "
                "of at least one token. Give one, or leave the hypothesis out."
            )
        # A string passes as a sequence of characters, and would be counted in them.
        if any(isinstance(tokens, str) for tokens in (hypothesis, *allowed)):
            raise TypeError(
                f"error_rates: item {place} holds a string in place of a token list. "
                "A hypothesis is a list of tokens, its references are a list of such lists. "
                "Cut strings with a tokenizer, and put a single reference into a list."
            )
