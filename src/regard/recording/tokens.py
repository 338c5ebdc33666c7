"""What positions stand for, as it is given to a trace: a list of tokens for each example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from regard.core.errors import shape_text
from regard.recording.site import Site

Tokens: TypeAlias = Sequence[Sequence[str]]


def check_text(name: str, tokens: Any) -> None:
    """Refuse what is no list of lists of text that a file can hold.

    Raises:
        TypeError, ValueError: it is something else.
    """
    rows = tokens if isinstance(tokens, list | tuple) else [tokens]
    wrong = [row for row in rows if not isinstance(row, list | tuple)]
    if wrong:
        raise TypeError(
            f"Trace.label: {name}_tokens holds {_short(wrong[0])} for an example. It is a list of "
            f"tokens for each example. Write {name}_tokens=[['a', 'b'], ['c', 'd']]; an example "
            "without tokens has []."
        )
    for token in (token for row in rows for token in row):
        if not isinstance(token, str):
            raise TypeError(
                f"Trace.label: {name}_tokens holds {_short(token)}, a {type(token).__name__}. "
                "Tokens are text. Write str(token) for each."
            )
        if not token.isascii() and any(0xD800 <= ord(letter) < 0xE000 for letter in token):
            raise ValueError(
                f"Trace.label: {name}_tokens holds {_short(token)}, which is half of a character "
                "(a surrogate). No file can hold it. Decode bytes with errors='replace'."
            )


def check_counts(site: Site, name: str, tokens: Tokens) -> None:
    """Refuse tokens that are more than the positions, or of more or fewer examples.

    Raises:
        ValueError: they do not fit the site.
    """
    shape = site.run.weights.shape
    axis = 2 if name == "query" else 3
    given = [len(row) for row in tokens]
    if len(given) != shape[0] or max(given, default=0) > shape[axis]:
        raise ValueError(
            f"Trace.label: {name}_tokens has {len(given)} lists, of {min(given, default=0)} to "
            f"{max(given, default=0)} tokens, but site {site.name!r} has weights "
            f"{shape_text(shape)}. Give one list for each of the {shape[0]} examples, of at most "
            f"{shape[axis]} tokens."
        )


def _short(given: object) -> str:
    text = " ".join(repr(given).split())
    return text if len(text) <= 60 else f"{text[:60]}…"
