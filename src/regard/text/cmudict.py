"""The CMU Pronouncing Dictionary: English words and their phonemes.

`data/README.md` says where the file comes from; its licence lies beside it.
"""

import lzma
from importlib.resources import files

from regard.text.pairs import Pair

_NO_DIGITS = str.maketrans("", "", "012")


def cmudict_pairs(*, stress: bool = False) -> list[Pair]:
    """Give every word with each of its pronunciations, in the dictionary's order.

    Args:
        stress: Keep the digits that mark stress on vowels (`AH0`). Without them, pronunciations
            that differ in nothing else are one.

    >>> [pair for pair in cmudict_pairs() if pair.source == "read"]
    [Pair(source='read', target='R EH D'), Pair(source='read', target='R IY D')]
    """
    pairs: dict[Pair, None] = {}  # a set that keeps its order
    for line in read_dictionary().decode("ascii").splitlines():
        entry, _, _comment = line.partition(" #")
        word, _, phonemes = entry.partition(" ")
        word, _, _variant = word.partition("(")  # `read(2)` is another pronunciation of `read`
        pairs[Pair(word, phonemes if stress else phonemes.translate(_NO_DIGITS))] = None
    return list(pairs)


def read_dictionary() -> bytes:
    """Give the dictionary file as it was published."""
    return lzma.decompress((files("regard.text") / "data" / "cmudict.dict.xz").read_bytes())
