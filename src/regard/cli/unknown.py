"""Tokens that a model has never seen: told once, so that odd answers do not surprise."""

from collections.abc import Iterable

import typer

from regard.models import Side

_MOST_SHOWN = 8


class UnknownTokens:
    """Counts what a side's vocabulary lacks."""

    def __init__(self, side: Side, name: str) -> None:
        self._side, self._name = side, name
        self._counts: dict[str, int] = {}

    def see(self, texts: Iterable[str]) -> None:
        """Count those of some strings."""
        for text in texts:
            for token in self._side.tokenizer.tokenize(text):
                if token not in self._side.vocabulary:
                    self._counts[token] = self._counts.get(token, 0) + 1

    def tell(self) -> None:
        """Say on standard error how many there were, and which."""
        if not self._counts:
            return
        shown = ", ".join(repr(token[:20]) for token in list(self._counts)[:_MOST_SHOWN])
        more = len(self._counts) - _MOST_SHOWN
        typer.echo(
            f"note: {self._name} tokens unknown to the model: {shown}"
            f"{f' and {more} more' if more > 0 else ''} ({sum(self._counts.values())} in all)",
            err=True,
        )
