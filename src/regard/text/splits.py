"""Training, development and test parts that share no source."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from regard.text.pairs import Pair


class Split(NamedTuple):
    """Three parts of a data set; no source is in two of them."""

    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]


def split_by_source(
    pairs: Iterable[Pair], *, dev_fraction: float = 0.05, test_fraction: float = 0.05
) -> Split:
    """Split pairs so that all targets of a source fall into one part, the same one every time.

    A hash of the source decides, so the part does not depend on order, on the other pairs, or on
    a seed, and the fractions are met only roughly on small data.

    >>> split = split_by_source([Pair(str(n), str(n)) for n in range(1000)])
    >>> len(split.train), len(split.dev), len(split.test)
    (898, 56, 46)
    """
    if dev_fraction < 0 or test_fraction < 0 or dev_fraction + test_fraction >= 1:
        raise ValueError(
            f"split_by_source: dev_fraction={dev_fraction}, test_fraction={test_fraction}. Both "
            "are parts of one whole and something must be left to train on. "
            "Give fractions from 0 that add up to less than 1."
        )
    split = Split([], [], [])
    for pair in pairs:
        digest = hashlib.sha1(pair.source.encode("utf-8"), usedforsecurity=False).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64  # in [0, 1], the same on every machine
        if place < dev_fraction:
            split.dev.append(pair)
        elif place < dev_fraction + test_fraction:
            split.test.append(pair)
        else:
            split.train.append(pair)
    return split
