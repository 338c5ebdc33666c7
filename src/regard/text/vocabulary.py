"""Vocabularies: tokens as numbers and back."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

SPECIAL_NAMES: Final = ("<pad>", "<unk>", "<s>", "</s>")


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The tokens a model knows, each with an id; four ids have a meaning of their own.

    The special ids are numbers, not tokens: `<pad>` in the data is an ordinary token with an id
    of its own, and only looks the same when displayed.

    Args:
        tokens: The ordinary tokens; the first has id 4.

    >>> vocabulary = Vocabulary.build([["AE", "B"], ["AE", "T"]])
    >>> vocabulary.encode(["B", "AE", "ZH"])
    [5, 4, 1]
    >>> vocabulary.decode([Vocabulary.BEGIN, 5, 4, Vocabulary.END, Vocabulary.PADDING])
    ['B', 'AE']
    """

    PADDING: ClassVar[int] = 0
    UNKNOWN: ClassVar[int] = 1
    BEGIN: ClassVar[int] = 2
    END: ClassVar[int] = 3

    tokens: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, compare=False)
    _names: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not self.tokens:
            raise ValueError(
                "Vocabulary: no tokens. A vocabulary needs at least one besides the special ones. "
                "Build it from data, or lower min_count."
            )
        if "" in self.tokens:
            raise ValueError(
                f"Vocabulary: token {self.tokens.index('')} is empty. A token has at least one "
                "character. Remove it."
            )
        ids = {token: id for id, token in enumerate(self.tokens, start=len(SPECIAL_NAMES))}
        if len(ids) < len(self.tokens):
            token, count = Counter(self.tokens).most_common(1)[0]
            raise ValueError(
                f"Vocabulary: {token!r} is there {count} times. A token has one id. "
                "Remove the repeats."
            )
        object.__setattr__(self, "_ids", ids)
        object.__setattr__(self, "_names", SPECIAL_NAMES + self.tokens)

    @classmethod
    def build(
        cls,
        token_lists: Iterable[Iterable[str]],
        *,
        min_count: int = 1,
        max_size: int | None = None,
    ) -> "Vocabulary":
        """Collect the tokens of data, the frequent ones first, equally frequent ones by name.

        Args:
            token_lists: The data, tokenized.
            min_count: Leave out tokens seen fewer times.
            max_size: Keep the most frequent, so that `len` is at most this, the four special
                ids included.
        """
        if min_count < 1:
            raise ValueError(
                f"Vocabulary.build: min_count={min_count}. It is the least number of times a "
                "token is seen, so at least 1. Use min_count=1 to keep every token."
            )
        if max_size is not None and max_size <= len(SPECIAL_NAMES):
            raise ValueError(
                f"Vocabulary.build: max_size={max_size}. {len(SPECIAL_NAMES)} places are taken by "
                f"the special ids. Give at least {len(SPECIAL_NAMES) + 1}, or None for no limit."
            )
        counts: Counter[str] = Counter()
        for tokens in token_lists:
            counts.update(_checked(tokens, "build"))
        kept = [token for token, count in counts.items() if count >= min_count]
        kept.sort(key=lambda token: (-counts[token], token))
        return cls(tuple(kept[: None if max_size is None else max_size - len(SPECIAL_NAMES)]))

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Give each token's id, `UNKNOWN` where it has none. No begin or end is added."""
        return [self._ids.get(token, self.UNKNOWN) for token in _checked(tokens, "encode")]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Give the tokens of a sequence: up to `END`, without `BEGIN` and `PADDING`."""
        kept: list[int] = []
        for id in ids:
            if id == self.END:
                break
            if id not in (self.PADDING, self.BEGIN):
                kept.append(id)
        return self.display(kept)

    def display(self, ids: Iterable[int]) -> list[str]:
        """Name every id, the special ones too, as labels of an alignment need.

        >>> Vocabulary(("AE", "B")).display([2, 4, 1, 3])
        ['<s>', 'AE', '<unk>', '</s>']
        """
        ids = list(ids)
        for id in ids:
            if not 0 <= id < len(self):
                raise ValueError(
                    f"Vocabulary: id {id} has no token. Ids are 0 to {len(self) - 1}. "
                    "Decode with the vocabulary that encoded."
                )
        return [self._names[id] for id in ids]

    def num_unknown(self, tokens: Iterable[str]) -> int:
        """Count the tokens that have no id."""
        return self.encode(tokens).count(self.UNKNOWN)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.tokens)} tokens and {len(SPECIAL_NAMES)} special ids)"

    def to_json(self) -> dict[str, list[str]]:
        """Give plain data that `from_json` reads again.

        >>> Vocabulary(("AE", "B")).to_json()
        {'special_tokens': ['<pad>', '<unk>', '<s>', '</s>'], 'tokens': ['AE', 'B']}
        """
        return {"special_tokens": list(SPECIAL_NAMES), "tokens": list(self.tokens)}

    @classmethod
    def from_json(cls, data: object) -> "Vocabulary":
        """Make the vocabulary that `to_json` wrote, refusing anything else."""
        match data:
            case {"special_tokens": [*special], "tokens": [*tokens]}:
                if tuple(special) == SPECIAL_NAMES and all(isinstance(t, str) for t in tokens):
                    return cls(tuple(tokens))
        given = f"a dict with {sorted(map(str, data))}" if isinstance(data, Mapping) else repr(data)
        raise ValueError(
            f"Vocabulary.from_json: {given[:100]}. A saved vocabulary is a dict with "
            f"special_tokens={list(SPECIAL_NAMES)} and tokens, a list of strings. "
            "The file is damaged or another program's: save the vocabulary again."
        )


def _checked(tokens: Iterable[str], method: str) -> Iterable[str]:
    # A string is an iterable of strings too, and would pass as a list of characters.
    if isinstance(tokens, str):
        raise TypeError(
            f"Vocabulary.{method}: {tokens[:40]!r} is a string. Tokens come as a list of strings. "
            "Cut it with a tokenizer first."
        )
    return tokens
