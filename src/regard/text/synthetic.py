"""Synthetic tasks: copy, reverse or sort a random sequence of letters."""

import string
from collections.abc import Callable
from random import Random

from regard.text.pairs import Pair

TASKS: dict[str, Callable[[list[str]], list[str]]] = {
    "copy": list,
    "reverse": lambda symbols: symbols[::-1],
    "sort": sorted,
}

_MOST_LETTERS = 20_000_000


def synthetic_pairs(
    task: str,
    *,
    length: int = 10,
    min_length: int | None = None,
    num_symbols: int = 26,
    num_pairs: int = 10_000,
    seed: int = 0,
) -> list[Pair]:
    """Make pairs of a task; source and target are letters with spaces between, no source repeats.

    Args:
        task: `copy`, `reverse` or `sort` (alphabetically, repeats kept).
        length: Number of letters, the largest one where min_length is given.
        min_length: Lengths are drawn evenly from here to `length`.
        num_symbols: Letters to draw from: the first of the alphabet.
        num_pairs: How many pairs to make.
        seed: Same seed, same pairs.

    >>> synthetic_pairs("sort", length=4, num_pairs=2)
    [Pair(source='t k g n', target='g k n t'), Pair(source='x v z j', target='j v x z')]
    """
    shortest = length if min_length is None else min_length
    _check(shortest, length, num_symbols, num_pairs)
    random = Random(seed)
    symbols = string.ascii_lowercase[:num_symbols]
    sources: dict[tuple[str, ...], None] = {}  # a set that keeps its order
    while len(sources) < num_pairs:
        sources[tuple(random.choices(symbols, k=random.randint(shortest, length)))] = None
    solve = TASKS[task]
    return [Pair(" ".join(source), " ".join(solve(list(source)))) for source in sources]


def _check(shortest: int, length: int, num_symbols: int, num_pairs: int) -> None:
    if length < 1:
        raise ValueError(
            f"synthetic data: length={length}. A sequence has at least one letter. "
            "Give length >= 1."
        )
    if not 1 <= shortest <= length:
        raise ValueError(
            f"synthetic data: lengths from {shortest} to {length}. A sequence has at least one "
            "letter, and the smallest length is not above the largest. "
            "Give min_length from 1 to length."
        )
    if not 1 <= num_symbols <= len(string.ascii_lowercase):
        raise ValueError(
            f"synthetic data: num_symbols={num_symbols}. Symbols are the letters a to z. "
            f"Give 1 to {len(string.ascii_lowercase)}."
        )
    if num_pairs < 1:
        raise ValueError(f"synthetic data: num_pairs={num_pairs}. Give at least 1.")
    if length * num_pairs > _MOST_LETTERS:
        raise ValueError(
            f"synthetic data: length={length} and num_pairs={num_pairs} make up to "
            f"{length * num_pairs:,} letters. They are held in memory, so at most "
            f"{_MOST_LETTERS:,} are made. Give a smaller length or num_pairs."
        )
    num_sequences = sum(num_symbols**size for size in range(shortest, length + 1))
    # Half of the sequences stay unused, so that drawing new ones never becomes a long search.
    if num_sequences < 2 * num_pairs:
        raise ValueError(
            f"synthetic data: num_pairs={num_pairs}, but {num_symbols} letters make only "
            f"{num_sequences} sequences of length {shortest} to {length}, and no sequence may be "
            "in two parts. There must be twice as many sequences as pairs. "
            f"Raise length or num_symbols, or give num_pairs <= {num_sequences // 2}."
        )
