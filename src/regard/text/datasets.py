"""Built-in data sets, ready to train on."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import NamedTuple

from regard.text.cmudict import cmudict_pairs
from regard.text.pairs import Pair
from regard.text.splits import split_by_source
from regard.text.synthetic import synthetic_pairs


class Dataset(NamedTuple):
    """Pairs to train on, to choose by and to test with; no source is in two parts.

    `source_tokenizer` and `target_tokenizer` are names for `regard.text.tokenizer`.
    """

    name: str
    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]
    source_tokenizer: str
    target_tokenizer: str


class Recipe(NamedTuple):
    """How a built-in data set is made: a function with its options, and what cuts its strings."""

    make_pairs: Callable[..., list[Pair]]
    source_tokenizer: str
    target_tokenizer: str


DATASETS: dict[str, Recipe] = {
    "cmudict": Recipe(cmudict_pairs, "characters", "whitespace"),
    "copy": Recipe(partial(synthetic_pairs, "copy"), "whitespace", "whitespace"),
    "reverse": Recipe(partial(synthetic_pairs, "reverse"), "whitespace", "whitespace"),
    "sort": Recipe(partial(synthetic_pairs, "sort"), "whitespace", "whitespace"),
}


def load_dataset(
    name: str,
    *,
    stress: bool = False,
    length: int | None = None,
    min_length: int | None = None,
    num_symbols: int | None = None,
    num_pairs: int | None = None,
    seed: int | None = None,
) -> Dataset:
    """Load a built-in data set: `cmudict`, or one of the tasks `copy`, `reverse`, `sort`.

    About 90 % of the sources are to train on, 5 % for dev, 5 % for test; the parts are the same
    on every machine. An option left at None takes the data set's own default, in parentheses.

    Args:
        name: One of `DATASETS`.
        stress: cmudict: keep the stress digits of vowels.
        length: Tasks: number of letters (10), the largest where min_length is given.
        min_length: Tasks: the smallest number of letters (`length`).
        num_symbols: Tasks: size of the alphabet (26).
        num_pairs: Tasks: pairs in all three parts together (10,000).
        seed: Tasks: which pairs (0).

    >>> load_dataset("reverse", length=5, num_pairs=1000).train[0]
    Pair(source='t k g n k', target='k n g k t')
    """
    if name not in DATASETS:
        raise ValueError(
            f"load_dataset: {name!r} is not a built-in data set. "
            f"Choose one of {', '.join(DATASETS)}, or read a file with read_pairs."
        )
    recipe = DATASETS[name]
    options = {
        "stress": stress or None,
        "length": length,
        "min_length": min_length,
        "num_symbols": num_symbols,
        "num_pairs": num_pairs,
        "seed": seed,
    }
    given = {option: value for option, value in options.items() if value is not None}
    known = signature(recipe.make_pairs).parameters
    for option, value in given.items():
        if option not in known:
            raise ValueError(
                f"load_dataset: {option}={value} was given for {name}, which has no such option. "
                f"{name} takes {', '.join(known)}. Leave {option} out."
            )
    split = split_by_source(recipe.make_pairs(**given))
    if not all(split):
        raise ValueError(
            f"{name}: num_pairs={num_pairs} leaves a part of it empty. Dev and test get "
            "about 5 % each, and each needs a pair. Give num_pairs >= 200."
        )
    return Dataset(name, *split, recipe.source_tokenizer, recipe.target_tokenizer)
